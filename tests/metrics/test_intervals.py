"""Intervals over test points: what a resample is, and how often an interval holds the truth."""

import math

import pytest
import torch

from unbraid.metrics.intervals import by_image, resampled_weights, settled_by_half, spread, wilson


def test_a_resample_draws_as_many_points_as_there_are():
    counts = resampled_weights(50) * 50
    torch.testing.assert_close(counts, counts.round())
    torch.testing.assert_close(counts.sum(dim=1), torch.full((200,), 50.0).double())


def test_resamples_are_the_same_for_a_seed():
    assert torch.equal(resampled_weights(20, seed=3), resampled_weights(20, seed=3))
    assert not torch.equal(resampled_weights(20, seed=3), resampled_weights(20, seed=4))


def test_the_spread_of_a_mean_is_its_standard_error():
    x = torch.arange(400).double()
    found = float(spread(resampled_weights(400, num_resamples=2000) @ x))
    assert found == pytest.approx(float(x.std(correction=0)) / 20, rel=0.05)  # 1 / sqrt(2 * 2000) is 1.6 %


def test_the_spread_leaves_undefined_resamples_out():
    assert float(spread(torch.tensor([1.0, math.nan, 3.0]))) == pytest.approx(math.sqrt(2))
    assert math.isnan(float(spread(torch.tensor([1.0, math.nan]))))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_interval_of_a_share_holds_the_share_and_is_not_empty(share):
    low, high = wilson(share, 100)
    assert 0 <= low <= share <= high <= 1
    assert high - low > 0.03


def test_the_interval_of_a_share_solves_its_equation():
    """At either end p, the share lies 1.96 standard errors of p away."""
    for end in wilson(0.3, 100):
        assert abs(0.3 - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / 100))


def test_a_score_that_moves_beyond_its_interval_is_not_settled():
    assert settled_by_half(0.5, 0.52, (0.45, 0.55), "training rows") == (True, ())
    settled, notes = settled_by_half(0.5, 0.4, (0.45, 0.55), "training rows")
    assert settled is False
    assert "0.4" in notes[0]
    assert settled_by_half(0.5, 0.4, None, "training rows") == (None, ())


def test_points_of_one_image_are_resampled_together():
    images = torch.tensor([4, 4, 7, 9, 9, 9])
    weights = resampled_weights(6, images=images)
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(200).double())
    assert bool((weights[:, 0] == weights[:, 1]).all())
    assert bool((weights[:, 3] == weights[:, 5]).all())
    torch.testing.assert_close(resampled_weights(6, images=torch.arange(6)), resampled_weights(6))


def test_an_image_adds_what_all_of_its_points_add():
    influence = torch.tensor([1.0, 2.0, 3.0, 4.0]).double()
    assert by_image(influence, torch.tensor([5, 2, 5, 2])).tolist() == [4.0, 6.0, 0.0, 0.0]
    assert by_image(influence, None) is influence
