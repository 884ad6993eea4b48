"""Vectors as pictures of curves."""

import numpy as np
import pytest
import torch

from unbraid.figures import Traversal
from unbraid.figures.curves import as_pictures, ends_of
from unbraid.figures.traversal import Strip


def random(*shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0))


def heights(picture):
    """Returns the mean height of the ink in each column, from 0 (bottom) to 1 (top)."""
    ink = 1 - picture[0] / picture.max()
    rows = torch.arange(len(ink)).flip(0) + 0.5
    return (ink * rows[:, None]).sum(dim=0) / ink.sum(dim=0) / len(ink)


def test_images_stay_as_they_are():
    frames = random(3, 3, 8, 8)
    assert as_pictures(frames) is frames


def test_a_curve_goes_through_its_numbers():
    values = torch.linspace(-2, 2, 50)[None, None, None]
    found = heights(as_pictures(values)[0])
    expected = torch.linspace(0, 1, len(found)) * 0.88 + 0.06  # a margin below and above
    torch.testing.assert_close(found, expected, atol=0.02, rtol=0)
    assert heights(as_pictures(values.flip(3))[0])[0] > 0.9


@pytest.mark.parametrize("size", [1, 2, 5000])
def test_every_column_of_a_picture_has_ink(size):
    pictures = as_pictures(random(2, 1, 1, size))
    assert bool(((1 - pictures / pictures.max()).sum(dim=2) > 0.9).all())
    assert 0 <= float(pictures.min()) < float(pictures.max()) < 1


def test_pictures_share_a_scale_and_may_be_given_another():
    low, high = torch.zeros(1, 1, 4), torch.ones(1, 1, 4)
    alone, together = as_pictures(high[None]), as_pictures(torch.stack([low, high]))
    assert float(heights(alone[0])[0]) == pytest.approx(0.5, abs=0.02)
    assert float(heights(together[1])[0]) == pytest.approx(0.94, abs=0.02)
    assert torch.equal(as_pictures(high[None], (0.0, 1.0))[0], together[1])
    assert ends_of([low, 3 * high]) == (0.0, 3.0)


def test_missing_frames_stay_missing():
    pictures = as_pictures(torch.stack([torch.ones(1, 1, 4), torch.full((1, 1, 4), torch.nan)]))
    assert bool(pictures[1].isnan().all())
    assert not pictures[0].isnan().any()


@pytest.mark.parametrize("shape", [(5, 20), (5, 1, 1, 20)])
def test_a_traversal_of_vectors_is_a_sheet_of_curves(shape, tmp_path):
    strips = [
        Strip(f"z{k}", k, 0, (-2.0, -1.0, 0.0, 1.0, 2.0), is_discrete=False, frames=random(*shape)) for k in range(2)
    ]
    traversal = Traversal(tuple(strips))
    assert np.asarray(traversal.image(labels=False)).shape[:2] == (2 * 64 + 2, 5 * 96 + 4 * 2)
    assert traversal.save(tmp_path / "moves.gif").stat().st_size > 0
    np.testing.assert_array_equal(traversal.array()[1], strips[1].frames.numpy())
