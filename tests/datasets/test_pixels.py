"""Subsets and weights of images: what is selected, and that no pixel is copied."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.datasets.pixels import Bitmaps, ChannelsLast, SelectedPixels, packed, shifted_apart
from unbraid.datasets.subsets import ChosenValues, RandomSplit, RowRange
from unbraid.datasets.weights import JointTable, image_weights
from unbraid.errors import DataError

WORDS = np.array([[0b1], [0b110], [1 << 63]], dtype=np.uint64)


def test_bit_c_becomes_255_in_column_c():
    pixels = Bitmaps.from_words(WORDS, 64)
    assert pixels.shape == pixels[:].shape == (3, 1, 1, 64)
    assert [row.nonzero()[:, 0].tolist() for row in pixels[:][:, 0, 0]] == [[0], [1, 2], [63]]
    assert pixels[:].unique().tolist() == [0, 255]


def test_columns_beyond_the_width_are_dropped():
    assert Bitmaps.from_words(np.array([[0b1011]], dtype=np.uint64), 3)[:].flatten().tolist() == [255, 255, 0]


def test_rows_are_taken_in_the_order_and_shape_they_are_asked_for():
    pixels = Bitmaps.from_words(WORDS, 64)
    rows = torch.tensor([[2, 0], [1, 1]])
    torch.testing.assert_close(pixels[rows], pixels[:][rows])


def test_bits_become_bytes_the_same_way_on_every_device():
    words = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (5, 3, 8), dtype=np.uint8))
    torch.testing.assert_close(shifted_apart(words, 61), Bitmaps(words, 61)[:][:, 0])


def test_the_bytes_come_out_on_the_device_that_holds_the_bits():
    # "meta" is a device without memory, and at hand everywhere.
    pixels = Bitmaps.from_words(WORDS, 64).to("meta")
    assert (pixels.device.type, pixels[:].device.type, pixels[:].shape) == ("meta", "meta", (3, 1, 1, 64))


def test_bits_are_not_copied():
    words = WORDS.copy()
    pixels = Bitmaps.from_words(words, 64)
    words[0] = 0
    assert not pixels[:][0].any()


@pytest.mark.parametrize("num_columns", [1, 8, 9, 16, 63, 64])
def test_column_c_becomes_bit_c(num_columns):
    images = np.random.default_rng(0).integers(0, 2, (5, 3, num_columns), dtype=np.uint8)
    expected = [[sum(int(pixel) << c for c, pixel in enumerate(row)) for row in image] for image in images]
    assert packed(images).tolist() == expected


CHANNELS_LAST = torch.arange(4 * 5 * 6 * 3).remainder(256).to(torch.uint8).reshape(4, 5, 6, 3)
FIRST = CHANNELS_LAST.permute(0, 3, 1, 2).contiguous()


def test_images_come_out_with_their_channels_first():
    pixels = ChannelsLast(CHANNELS_LAST)
    assert pixels.shape == FIRST.shape
    assert len(pixels) == 4
    assert pixels.nbytes == FIRST.nbytes
    torch.testing.assert_close(pixels[:], FIRST)
    torch.testing.assert_close(pixels[1:3], FIRST[1:3])
    rows = torch.tensor([[3, 0, 1], [1, 1, 2]])
    torch.testing.assert_close(pixels[rows], FIRST[rows])


def test_they_lie_in_memory_as_images_do_that_were_so_from_the_start():
    rows = torch.tensor([[3, 0], [1, 1]])
    assert ChannelsLast(CHANNELS_LAST)[rows].stride() == FIRST[rows].stride()
    assert ChannelsLast(CHANNELS_LAST)[1:].stride() == FIRST[1:].stride()


def test_moving_to_where_they_are_copies_nothing():
    pixels = ChannelsLast(CHANNELS_LAST)
    moved = pixels.to("cpu")
    assert moved.device == pixels.device == torch.device("cpu")
    assert moved.images.data_ptr() == CHANNELS_LAST.data_ptr()


FACTORS = (Factor("group", 4, ordered=False), Factor("depth", 0))
PIXELS = torch.arange(20 * 3 * 2 * 5).reshape(20, 3, 2, 5).to(torch.uint8)
VALUES = torch.stack([torch.arange(20) % 4, torch.linspace(-1, 1, 20)], dim=1)
IMAGES = FactorImages.from_table(PIXELS, VALUES, FACTORS)
ODD = ChosenValues("group", (1, 3))
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def test_selected_images_are_indexed_as_if_they_were_all():
    rows = torch.tensor([19, 3, 3, 0])
    selected = SelectedPixels(PIXELS, rows)
    assert selected.shape == (4, 3, 2, 5)
    assert len(selected) == 4
    assert torch.equal(selected[:], PIXELS[rows])
    assert torch.equal(selected[1:3], PIXELS[[3, 3]])
    assert torch.equal(selected[torch.tensor([[0, 3], [2, 2]])], PIXELS[torch.tensor([[19, 0], [3, 3]])])


def test_a_subset_has_its_images_with_their_factors():
    images = ODD.select(IMAGES)
    assert torch.equal(images.values, VALUES[1::2])
    torch.testing.assert_close(images.batch(torch.arange(10)), IMAGES.batch(torch.arange(1, 20, 2)))
    assert images.factor_table == FACTORS
    assert images.weights is None


def test_a_subset_of_a_subset_is_one():
    images = ChosenValues("group", (3,)).select(ODD.select(IMAGES))
    assert torch.equal(images.pixels[:], PIXELS[3::4])


@pytest.mark.parametrize("subset", [ODD, RandomSplit(0.5), RowRange(4, 15)])
def test_no_pixel_is_copied(subset):
    pixels = subset.select(IMAGES).pixels
    source = pixels.source if isinstance(pixels, SelectedPixels) else pixels
    assert source.untyped_storage().data_ptr() == PIXELS.untyped_storage().data_ptr()


def test_rows_that_follow_one_another_are_a_view():
    pixels = RowRange(4, 15).select(IMAGES).pixels
    assert isinstance(pixels, torch.Tensor)
    assert torch.equal(pixels, PIXELS[4:15])


def test_packed_images_stay_packed():
    bits = np.random.default_rng(0).integers(0, 2**16, (20, 4), dtype=np.uint64)
    packed = Bitmaps.from_words(bits, 16)
    images = ODD.select(FactorImages.from_table(packed, VALUES, FACTORS))
    assert images.pixels.source is packed
    assert torch.equal(images.pixels[:], packed[torch.arange(1, 20, 2)])
    assert images.pixels.nbytes == packed.nbytes + 10 * 8
    assert images.to("cpu").pixels is images.pixels


def test_memory_mapped_images_stay_on_the_disk(tmp_path):
    np.save(tmp_path / "images.npy", PIXELS.numpy())
    mapped = torch.from_numpy(np.load(tmp_path / "images.npy", mmap_mode="c"))
    images = ODD.select(FactorImages.from_table(mapped, VALUES, FACTORS))
    assert images.pixels.source.data_ptr() == mapped.data_ptr()
    assert images.to("cpu").pixels is images.pixels


def test_the_weights_of_a_subset_sum_to_one_again():
    weights = torch.arange(20, dtype=torch.float32) / 190
    images = ODD.select(replace(IMAGES, weights=weights))
    torch.testing.assert_close(images.weights, torch.arange(1, 20, 2, dtype=torch.float64) / 100, rtol=1e-6, atol=0)
    assert float(images.weights.sum()) == pytest.approx(1, abs=1e-14)


def test_images_that_are_never_drawn_are_no_subset():
    with pytest.raises(DataError, match="ChosenValues: all 10"):
        ODD.select(replace(IMAGES, weights=(torch.arange(20) % 2 == 0) / 10))


def test_weighted_images_are_drawn_as_the_table_says_and_as_they_were_within_a_combination():
    base = 1 + torch.arange(20, dtype=torch.float32)
    joint = JointTable(("group",), (0.1, 0.2, 0.3, 0.4))
    found = image_weights(joint, FACTORS, VALUES, base)
    for group, share in enumerate((0.1, 0.2, 0.3, 0.4)):
        expected = share * base[group::4].double() / base[group::4].double().sum()
        torch.testing.assert_close(found[group::4], expected, rtol=1e-12, atol=0)


@needs_cuda
@pytest.mark.parametrize("packed", [True, False])
def test_on_a_gpu_there_are_the_selected_images(packed):
    pixels = Bitmaps.from_words(np.arange(80, dtype=np.uint64).reshape(20, 4), 16) if packed else PIXELS
    images = ODD.select(FactorImages.from_table(pixels, VALUES, FACTORS))
    moved = images.to("cuda")
    assert moved.pixels.device.type == "cuda"
    assert torch.equal(moved.bytes_of(torch.arange(10, device="cuda")).cpu(), images.pixels[:])
    streamed = images.streamed_to("cuda")
    assert streamed.pixels is images.pixels
    assert torch.equal(streamed.bytes_of(torch.arange(10, device="cuda")).cpu(), images.pixels[:])


def test_moved_elsewhere_only_the_selected_images_of_a_tensor_go_along():
    moved = SelectedPixels(PIXELS, torch.tensor([2, 5])).to("meta")
    assert moved.source.shape == (2, 3, 2, 5)
    assert moved.source.device.type == moved.rows.device.type == "meta"
