"""Arrays that are read where they lie: many bytes stay in the file."""

import os

import numpy as np
import pytest
import torch

from tests.datasets.user.array_files import IMAGES, saved
from unbraid._internal import files
from unbraid.datasets import FromArrays
from unbraid.errors import DataError


@pytest.fixture
def mapped_from_the_start(monkeypatch):
    monkeypatch.setattr("unbraid.datasets.user.from_arrays._MAPPED_FROM_BYTES", 1)


def is_in_the_file(pixels, path):
    """Whether a change of the file shows in the images."""
    content = path.read_bytes()
    before = pixels[:].clone()
    with path.open("r+b") as stream:
        stream.seek(content.index(IMAGES.tobytes()[40:60]))
        stream.write(bytes(20))
    shows = not torch.equal(pixels[:], before)
    path.write_bytes(content)
    return shows


@pytest.mark.usefixtures("mapped_from_the_start")
@pytest.mark.parametrize("shape", [(4, 5, 6), (4, 1, 5, 6), (4, 5, 6, 1), (2, 3, 5, 4), (2, 5, 4, 3)], ids=str)
def test_many_bytes_stay_in_the_file_and_are_the_same(tmp_path, shape, monkeypatch):
    dataset = saved(tmp_path / "own.npz", images=IMAGES.reshape(shape), factors=np.arange(shape[0]))
    mapped = dataset.open()
    monkeypatch.setattr("unbraid.datasets.user.from_arrays._MAPPED_FROM_BYTES", 2**40)
    read = dataset.open()
    assert isinstance(read.pixels, torch.Tensor)
    rows = torch.tensor([[1, 0], [1, 1]])
    torch.testing.assert_close(mapped.batch(rows), read.batch(rows), rtol=0, atol=0)
    assert mapped.batch(rows).stride() == read.batch(rows).stride()
    torch.testing.assert_close(mapped.pixels[:], read.pixels, rtol=0, atol=0)
    assert mapped.image_shape == read.image_shape == dataset.image_shape
    assert is_in_the_file(mapped.pixels, tmp_path / "own.npz")
    assert not is_in_the_file(read.pixels, tmp_path / "own.npz")


@pytest.mark.usefixtures("mapped_from_the_start")
def test_what_is_written_to_the_images_does_not_reach_the_file(tmp_path):
    images = saved(tmp_path / "own.npz", images=IMAGES).open()
    before = (tmp_path / "own.npz").read_bytes()
    images.pixels[:] = 0
    assert (tmp_path / "own.npz").read_bytes() == before


@pytest.mark.usefixtures("mapped_from_the_start")
@pytest.mark.parametrize(
    "images", [IMAGES > 3, IMAGES / 255, np.asfortranarray(IMAGES)], ids=["bool", "float", "fortran"]
)
def test_what_is_not_bytes_in_order_is_read(tmp_path, images):
    pixels = saved(tmp_path / "own.npz", images=images).open().pixels
    expected = np.where(IMAGES > 3, 255, 0) if images.dtype == bool else IMAGES
    np.testing.assert_array_equal(pixels[:, 0], expected)


@pytest.mark.usefixtures("mapped_from_the_start")
def test_what_is_compressed_is_read(tmp_path):
    np.savez_compressed(tmp_path / "own.npz", images=IMAGES)
    np.testing.assert_array_equal(FromArrays(str(tmp_path / "own.npz")).open().pixels[:, 0], IMAGES)


@pytest.mark.usefixtures("mapped_from_the_start")
def test_bytes_that_are_nearly_black_are_refused_where_they_lie(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.datasets.user.from_arrays._IMAGES_AT_ONCE", 2)
    with pytest.raises(DataError, match="up to 1;"):
        saved(tmp_path / "own.npz", images=np.ones((5, 2, 2), dtype=np.uint8)).open()
    late = np.zeros((5, 2, 2), dtype=np.uint8)
    late[4] = 200
    assert int(saved(tmp_path / "own.npz", images=late).open().pixels[4].min()) == 200


def test_a_large_file_is_verified_anew_only_when_asked(tmp_path, monkeypatch):
    monkeypatch.setattr("unbraid.datasets.file_stamps.ALWAYS_VERIFIED_BYTES", 10)
    np.savez(tmp_path / "own.npz", images=IMAGES)
    os.utime(tmp_path / "own.npz", (1e9, 1e9))
    dataset = FromArrays(str(tmp_path / "own.npz"))
    monkeypatch.setattr(files, "sha256", lambda path: "0" * 64)
    assert len(dataset.open()) == 4
    with pytest.raises(DataError, match=f"expects {dataset.sha256}"):
        dataset.load()


@pytest.mark.skipif(np.finfo(np.longdouble).maxexp == np.finfo(np.float64).maxexp, reason="no wider floats here")
def test_factors_beyond_a_double_are_refused(tmp_path):
    factors = np.array([1, 2, 3, 4], dtype=np.longdouble) * np.longdouble("1e4000")
    with pytest.raises(DataError, match="in 4"):
        FromArrays.from_arrays(IMAGES, factors)
