import h5py
import numpy as np
import pytest
import torch

from unbraid.datasets import Factor, Shapes3D
from unbraid.datasets.published import shapes3d

OFFICIAL_FILE = "3dshapes.h5"
SIZES = (2, 3, 1, 2, 4, 3)
NUM_IMAGES = 144
IMAGES = np.random.default_rng(0).integers(0, 256, (NUM_IMAGES, 64, 64, 3), dtype=np.uint8)


def write(path, chunks=(40, 4, 4, 1)):
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=IMAGES, chunks=chunks, compression="gzip" if chunks else None)
    return path


@pytest.fixture
def small_grid(monkeypatch):
    """The official format, on a grid that a test can write."""
    factors = tuple(
        Factor(factor.name, size, factor.ordered) for factor, size in zip(Shapes3D.factors, SIZES, strict=True)
    )
    monkeypatch.setattr(Shapes3D, "factors", factors)
    return factors


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize(
    ("chunks", "subfolder"), [((40, 4, 4, 1), ""), ((144, 64, 64, 3), "3dshapes"), (None, "shapes3d")]
)
def test_the_official_file_is_read_however_it_is_packed(tmp_path, chunks, subfolder, any_checksum):
    any_checksum(Shapes3D)
    write(tmp_path / subfolder / OFFICIAL_FILE, chunks=chunks)
    images = Shapes3D(root=str(tmp_path)).load()
    np.testing.assert_array_equal(images.pixels.numpy(), IMAGES.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(images.values.numpy(), np.stack([axis.ravel() for axis in np.indices(SIZES)], axis=1))
    assert images.values.dtype == torch.int64


@pytest.mark.usefixtures("small_grid")
def test_conversion_goes_on_from_any_image(tmp_path):
    path = write(tmp_path / OFFICIAL_FILE)
    plan = Shapes3D(root=str(tmp_path)).plan((path,))
    for start in (0, 39, 40, 143, 144):
        blocks = [np.empty((0, 3, 64, 64), dtype=np.uint8), *plan.blocks(start)]
        np.testing.assert_array_equal(np.concatenate(blocks), IMAGES[start:].transpose(0, 3, 1, 2))


@pytest.mark.usefixtures("small_grid")
def test_what_is_passed_on_is_small_though_blocks_are_large(tmp_path, monkeypatch):
    monkeypatch.setattr(shapes3d, "_IMAGES_AT_ONCE", 10)
    plan = Shapes3D(root=str(tmp_path)).plan((write(tmp_path / OFFICIAL_FILE),))
    lengths = [len(block) for block in plan.blocks(0)]
    assert max(lengths) == 10
    assert sum(lengths) == NUM_IMAGES


def test_the_config_describes_the_images_before_they_are_read():
    dataset = Shapes3D()
    assert dataset.published_num_images == 480_000
    assert dataset.image_shape == (3, 64, 64)
    assert [(factor.name, factor.size, factor.ordered) for factor in dataset.factors] == [
        ("floor_hue", 10, True),
        ("wall_hue", 10, True),
        ("object_hue", 10, True),
        ("scale", 8, True),
        ("shape", 4, False),
        ("orientation", 15, True),
    ]
