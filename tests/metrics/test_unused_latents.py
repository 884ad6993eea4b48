"""Which latents are unused, and when a model is collapsed."""

import dataclasses
import math

import pytest
import torch

from unbraid.codes import Codes
from unbraid.metrics import MIG
from unbraid.metrics.unused_latents import badge, informativeness, is_collapsed, unused_latents

STEPS = torch.arange(40, dtype=torch.float64)


def gaussian(*spreads, num_images=2000):
    """Normal means of these standard deviations, with posteriors of std 1: I(x; z_j) = log(1 + spread^2) / 2."""
    normal = torch.distributions.Normal(0.0, 1.0).icdf((torch.arange(num_images).double() + 0.5) / num_images)
    mean = torch.stack([spread * normal for spread in spreads], dim=1)
    return Codes(mean, torch.ones_like(mean))


def test_a_latent_with_less_than_a_hundredth_of_a_nat_is_unused():
    at = math.sqrt(math.expm1(0.02))  # log(1 + at^2) / 2 = 0.01
    codes = gaussian(0.9 * at, 1.1 * at, 2e-4, 3.0)
    assert unused_latents(codes).tolist() == [True, False, True, False]
    assert informativeness(codes)[3].item() == pytest.approx(math.log(10) / 2, abs=0.01)


def test_a_mig_spares_the_work_and_changes_nothing():
    codes = dataclasses.replace(gaussian(0.1, 2.0), factors=())
    labeled = Codes.from_arrays(codes.mean, codes.std, factors={"half": (torch.arange(2000) < 1000).long()})
    assert torch.equal(unused_latents(labeled, MIG()(labeled)), unused_latents(codes))


@pytest.mark.parametrize("std", [None, 0.0])
@pytest.mark.parametrize(
    ("spreads", "unused"),
    [
        ((1.0, 0.051, 0.049), [False, False, True]),
        ((100.0, 5.1, 4.9), [False, False, True]),
        ((0.011, 0.001, 0.0001), [False, False, True]),
        ((0.0099, 0.009, 0.009), [True, True, True]),
        ((0.0, 0.0, 0.0), [True, True, True]),
    ],
)
def test_without_a_width_the_spread_of_the_means_decides(std, spreads, unused):
    signs = 2 * (STEPS % 2) - 1
    mean = torch.stack([spread * signs for spread in spreads], dim=1)
    codes = Codes(mean, None if std is None else torch.zeros_like(mean))
    assert unused_latents(codes).tolist() == unused


def test_the_spread_is_that_of_the_weighted_images():
    mean = torch.stack([2 * (STEPS % 2) - 1, torch.where(STEPS == 0, 1.0, 0.0)], dim=1)
    weights = torch.where(STEPS == 0, 0.0, 1.0)
    assert unused_latents(Codes(mean)).tolist() == [False, False]
    assert unused_latents(Codes(mean, weights=weights)).tolist() == [False, True]


def test_discrete_latents_are_unused_where_their_category_says_nothing():
    known = torch.eye(2, dtype=torch.float64).repeat(20, 1)
    codes = Codes(STEPS[:, None], probabilities=(known, torch.full_like(known, 0.5)))
    assert unused_latents(codes).tolist() == [False, False, True]
    assert unused_latents(Codes(STEPS[:, None][:, :0], probabilities=codes.probabilities)).tolist() == [False, True]


def test_draws_of_the_prior_are_no_information():
    """Sixteen draws of each image fall into other bins each time, whatever the image."""
    draws = torch.randn(16, 40, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    codes = Codes(torch.stack([STEPS / 10, 2e-4 * STEPS], dim=1), samples=draws)
    assert informativeness(codes)[1] > 1
    assert unused_latents(codes).tolist() == [False, True]


@pytest.mark.parametrize(
    ("num_unused", "num_latents", "expected"),
    [
        (6, 6, "6 of 6 latents unused: these scores describe noise"),
        (5, 6, "5 of 6 latents unused: these scores describe one latent and noise"),
        (4, 6, ""),
        (0, 1, ""),
        (1, 1, "1 of 1 latents unused: these scores describe noise"),
    ],
)
def test_a_model_with_fewer_than_two_latents_in_use_is_collapsed(num_unused, num_latents, expected):
    assert badge(num_unused, num_latents) == expected
    assert is_collapsed(num_unused, num_latents) == bool(expected)
