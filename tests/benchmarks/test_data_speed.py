import numpy as np
import pytest

from benchmarks.data_speed import IMAGE_SHAPE, Patches


@pytest.fixture
def patches(tmp_path):
    return Patches(str(tmp_path / "store"), 1000)


def test_patches_are_made_once_and_then_mapped(patches):
    first = patches.open()
    assert first.pixels.shape == (1000, *IMAGE_SHAPE)
    record = (patches.store.folder / "record.json").stat().st_mtime_ns
    np.testing.assert_array_equal(patches.open().pixels, first.pixels)
    assert (patches.store.folder / "record.json").stat().st_mtime_ns == record
