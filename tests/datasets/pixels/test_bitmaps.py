import numpy as np
import pytest
import torch

from unbraid.datasets.pixels import bitmaps
from unbraid.datasets.pixels.bitmaps import Bitmaps, packed

WORDS = np.array([[0b1], [0b110], [1 << 63]], dtype=np.uint64)


def test_bit_c_becomes_255_in_column_c():
    pixels = Bitmaps.of(WORDS, 64)
    assert pixels.shape == pixels[:].shape == (3, 1, 1, 64)
    assert [row.nonzero()[:, 0].tolist() for row in pixels[:][:, 0, 0]] == [[0], [1, 2], [63]]
    assert pixels[:].unique().tolist() == [0, 255]


def test_columns_beyond_the_width_are_dropped():
    assert Bitmaps.of(np.array([[0b1011]], dtype=np.uint64), 3)[:].flatten().tolist() == [255, 255, 0]


def test_rows_are_taken_in_the_order_and_shape_they_are_asked_for():
    pixels = Bitmaps.of(WORDS, 64)
    rows = torch.tensor([[2, 0], [1, 1]])
    torch.testing.assert_close(pixels[rows], pixels[:][rows])


def test_bits_become_bytes_the_same_way_on_every_device():
    words = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (5, 3, 8), dtype=np.uint8))
    torch.testing.assert_close(bitmaps.shifted_apart(words, 61), Bitmaps(words, 61)[:][:, 0])


def test_the_bytes_come_out_on_the_device_that_holds_the_bits():
    # "meta" is a device without memory, and at hand everywhere.
    pixels = Bitmaps.of(WORDS, 64).to("meta")
    assert (pixels.device.type, pixels[:].device.type, pixels[:].shape) == ("meta", "meta", (3, 1, 1, 64))


def test_bits_are_not_copied():
    words = WORDS.copy()
    pixels = Bitmaps.of(words, 64)
    words[0] = 0
    assert not pixels[:][0].any()


@pytest.mark.parametrize("num_columns", [1, 8, 9, 16, 63, 64])
def test_column_c_becomes_bit_c(num_columns):
    images = np.random.default_rng(0).integers(0, 2, (5, 3, num_columns), dtype=np.uint8)
    expected = [[sum(int(pixel) << c for c, pixel in enumerate(row)) for row in image] for image in images]
    assert packed(images).tolist() == expected
