import math

import numpy as np
import pytest
import torch

from tests.datasets.mutants import assert_damaged_are_read_or_refused
from unbraid.datasets import BaselFaces, Factor
from unbraid.datasets.published import basel_faces
from unbraid.errors import DataError

SIZES = (2, 3, 2, 2)
NUM_IMAGES = math.prod(SIZES)
IMAGES = (torch.arange(NUM_IMAGES)[:, None, None] * 10 + torch.arange(64)[:, None] // 16 + torch.arange(64) // 32).to(
    torch.uint8
)


@pytest.fixture
def small_grid(monkeypatch):
    """Files of two people instead of fifty."""
    factors = tuple(
        Factor(factor.name, size, factor.ordered) for factor, size in zip(BaselFaces.factors, SIZES, strict=True)
    )
    monkeypatch.setattr(BaselFaces, "factors", factors)


def put(folder, content, zipped=True):
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(content, folder / "basel_face_renders.pth", _use_new_zipfile_serialization=zipped)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("subfolder", ["", "basel-faces", "data"])
@pytest.mark.usefixtures("small_grid")
def test_the_images_come_back_with_the_light_changing_fastest(tmp_path, subfolder, zipped):
    put(tmp_path / subfolder, IMAGES, zipped)
    images = BaselFaces(root=str(tmp_path)).load()
    torch.testing.assert_close(images.pixels, IMAGES[:, None])
    assert images.values[:5].tolist() == [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 0]]
    assert images.values[-1].tolist() == [1, 2, 1, 1]
    assert [factor.name for factor in images.factor_table] == ["identity", "azimuth", "elevation", "lighting"]


@pytest.mark.parametrize(
    "shape",
    [(NUM_IMAGES, 64, 64), (NUM_IMAGES, 1, 64, 64), (NUM_IMAGES, 4096), (*SIZES, 64, 64), (*SIZES, 1, 64, 64)],
    ids=str,
)
@pytest.mark.usefixtures("small_grid")
def test_every_layout_that_their_code_takes_is_read(tmp_path, shape):
    put(tmp_path, IMAGES.reshape(shape))
    torch.testing.assert_close(BaselFaces(root=str(tmp_path)).load().pixels, IMAGES[:, None])


@pytest.mark.parametrize("dtype", [torch.int16, torch.int64, torch.float16, torch.float32, torch.float64])
@pytest.mark.usefixtures("small_grid")
def test_whole_numbers_of_other_types_become_bytes(tmp_path, dtype):
    put(tmp_path, IMAGES.to(dtype))
    torch.testing.assert_close(BaselFaces(root=str(tmp_path)).load().pixels, IMAGES[:, None])


@pytest.mark.parametrize("value", [-1.0, 256.0, 0.5, math.nan, math.inf])
@pytest.mark.usefixtures("small_grid")
def test_numbers_that_are_no_bytes_are_refused_by_image(tmp_path, value):
    images = IMAGES.float()
    images[17, 3, 3] = value
    put(tmp_path, images)
    with pytest.raises(DataError, match=r"17 in .*basel_face_renders\.pth.*integers from 0 to 255"):
        BaselFaces(root=str(tmp_path)).load()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (IMAGES[:-1], r"shape \(23, 64, 64\); expected .* \(24, 64, 64\) or \(2, 3, 2, 2, 64, 64\)"),
        (IMAGES.reshape(64, 64, NUM_IMAGES), r"shape \(64, 64, 24\)"),
        (IMAGES.reshape(4, 3, 2, 64, 64), r"shape \(4, 3, 2, 64, 64\)"),
        (torch.tensor(1), r"shape \(\)"),
        (IMAGES.bool(), r"torch\.bool .*expected bytes"),
        ({"images": IMAGES}, "dict"),
    ],
)
@pytest.mark.usefixtures("small_grid")
def test_what_is_not_the_renders_is_refused(tmp_path, content, match):
    put(tmp_path, content)
    with pytest.raises(DataError, match=rf"basel_face_renders\.pth.*{match}"):
        BaselFaces(root=str(tmp_path)).load()


@pytest.mark.usefixtures("small_grid")
def test_many_images_are_converted_in_blocks_without_losing_one(tmp_path, monkeypatch):
    monkeypatch.setattr(basel_faces, "_IMAGES_PER_BLOCK", 7)
    put(tmp_path, IMAGES)
    dataset = BaselFaces(root=str(tmp_path))
    torch.testing.assert_close(dataset.load().pixels, IMAGES[:, None])
    assert sum(map(len, dataset.plan((tmp_path / "basel_face_renders.pth",)).blocks(5))) == NUM_IMAGES - 5


def test_the_config_describes_the_published_renders():
    dataset = BaselFaces()
    assert (dataset.num_images, dataset.image_shape) == (127_050, (1, 64, 64))
    assert dataset.factors == (
        Factor("identity", 50, ordered=False),
        Factor("azimuth", 21),
        Factor("elevation", 11),
        Factor("lighting", 11),
    )


def test_a_file_of_the_published_size_is_understood(tmp_path):
    """One image, saved as 127,050 views of it: the shape is the published one, the file is not."""
    put(tmp_path, IMAGES[3].expand(127_050, 64, 64), zipped=False)
    plan = BaselFaces().plan((tmp_path / "basel_face_renders.pth",))
    assert plan.image_shape == (1, 64, 64)
    # Computed the slow way: identity, then azimuth, then elevation, then light.
    row = ((7 * 21 + 20) * 11 + 4) * 11 + 9
    assert plan.factors[row].tolist() == [7, 20, 4, 9]
    assert len(plan.factors) == 127_050
    np.testing.assert_array_equal(next(plan.blocks(127_000)), np.broadcast_to(IMAGES[3], (50, 1, 64, 64)))


@pytest.mark.usefixtures("no_data_folder")
def test_without_the_file_it_says_how_to_get_it_and_names_the_stand_in():
    with pytest.raises(
        DataError,
        match=r"basel_face_renders\.pth.*ShadedFaces.*faces\.dmi\.unibas\.ch.*save",
    ):
        BaselFaces().load()


@pytest.mark.slow
@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.usefixtures("small_grid")
def test_damaged_files_are_read_or_refused(tmp_path, zipped):
    put(tmp_path / "whole", IMAGES[:1].expand(NUM_IMAGES, 64, 64), zipped)
    content = (tmp_path / "whole" / "basel_face_renders.pth").read_bytes()

    def parse(path):
        assert sum(map(len, BaselFaces().plan((path,)).blocks(0))) == NUM_IMAGES

    assert_damaged_are_read_or_refused(parse, [content], tmp_path, "basel_face_renders.pth", 2**24)
