"""Subsets and weights of images: what is selected, and that no pixel is copied."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.datasets.pixels.bitmaps import Bitmaps
from unbraid.datasets.selected import SelectedPixels, subset_of, weighted
from unbraid.datasets.subsets import ChosenValues, RandomSplit, RowRange
from unbraid.datasets.weights import JointTable
from unbraid.errors import DataError

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
    images = subset_of(IMAGES, ODD)
    assert torch.equal(images.values, VALUES[1::2])
    torch.testing.assert_close(images.batch(torch.arange(10)), IMAGES.batch(torch.arange(1, 20, 2)))
    assert images.factor_table == FACTORS
    assert images.weights is None


def test_a_subset_of_a_subset_is_one():
    images = subset_of(subset_of(IMAGES, ODD), ChosenValues("group", (3,)))
    assert torch.equal(images.pixels[:], PIXELS[3::4])


@pytest.mark.parametrize("subset", [ODD, RandomSplit(0.5), RowRange(4, 15)])
def test_no_pixel_is_copied(subset):
    pixels = subset_of(IMAGES, subset).pixels
    source = pixels.source if isinstance(pixels, SelectedPixels) else pixels
    assert source.untyped_storage().data_ptr() == PIXELS.untyped_storage().data_ptr()


def test_rows_that_follow_one_another_are_a_view():
    pixels = subset_of(IMAGES, RowRange(4, 15)).pixels
    assert isinstance(pixels, torch.Tensor)
    assert torch.equal(pixels, PIXELS[4:15])


def test_packed_images_stay_packed():
    bits = np.random.default_rng(0).integers(0, 2**16, (20, 4), dtype=np.uint64)
    packed = Bitmaps.of(bits, 16)
    images = subset_of(FactorImages.from_table(packed, VALUES, FACTORS), ODD)
    assert images.pixels.source is packed
    assert torch.equal(images.pixels[:], packed[torch.arange(1, 20, 2)])
    assert images.pixels.nbytes == packed.nbytes + 10 * 8
    assert images.to("cpu").pixels is images.pixels


def test_memory_mapped_images_stay_on_the_disk(tmp_path):
    np.save(tmp_path / "images.npy", PIXELS.numpy())
    mapped = torch.from_numpy(np.load(tmp_path / "images.npy", mmap_mode="c"))
    images = subset_of(FactorImages.from_table(mapped, VALUES, FACTORS), ODD)
    assert images.pixels.source.data_ptr() == mapped.data_ptr()
    assert images.to("cpu").pixels is images.pixels


def test_the_weights_of_a_subset_sum_to_one_again():
    weights = torch.arange(20, dtype=torch.float32) / 190
    images = subset_of(replace(IMAGES, weights=weights), ODD)
    torch.testing.assert_close(images.weights, torch.arange(1, 20, 2, dtype=torch.float64) / 100, rtol=1e-6, atol=0)
    assert float(images.weights.sum()) == pytest.approx(1, abs=1e-14)


def test_images_that_are_never_drawn_are_no_subset():
    with pytest.raises(DataError, match="ChosenValues: all 10 images of the train part have the weight 0"):
        subset_of(replace(IMAGES, weights=(torch.arange(20) % 2 == 0) / 10), ODD)


def test_weighted_images_are_drawn_as_the_table_says_and_as_they_were_within_a_combination():
    base = 1 + torch.arange(20, dtype=torch.float32)
    images = weighted(replace(IMAGES, weights=base), JointTable(("group",), (0.1, 0.2, 0.3, 0.4)))
    assert images.pixels is PIXELS
    for group, share in enumerate((0.1, 0.2, 0.3, 0.4)):
        expected = share * base[group::4].double() / base[group::4].double().sum()
        torch.testing.assert_close(images.weights[group::4], expected, rtol=1e-12, atol=0)


@needs_cuda
@pytest.mark.parametrize("packed", [True, False])
def test_on_a_gpu_there_are_the_selected_images(packed):
    pixels = Bitmaps.of(np.arange(80, dtype=np.uint64).reshape(20, 4), 16) if packed else PIXELS
    images = subset_of(FactorImages.from_table(pixels, VALUES, FACTORS), ODD)
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
