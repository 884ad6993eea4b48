"""The number of informative latents: known answers, and which latents are none."""

import dataclasses
import math

import pytest
import torch

from tests.metrics.latent_codes import grid, prior_like, random_codes, with_noise
from unbraid.codes import Codes
from unbraid.errors import SpecError
from unbraid.metrics.estimators import Quantized, Sampled
from unbraid.metrics.informative_latents import InformativeLatents
from unbraid.metrics.informativeness import Informativeness


def test_noise_is_not_counted():
    score = InformativeLatents()(with_noise(grid((4, 5)), 3))
    assert score.value == 2
    assert score.interval == (2, 2)
    assert score.per_latent[2:] == pytest.approx([0, 0, 0], abs=1e-6)
    assert InformativeLatents()(prior_like(10, 3)).value == 0


@pytest.mark.parametrize("shift", [0.9, 1.1])
def test_the_threshold_is_in_nats(shift):
    """Two means at +-m with a std of 1: I = H(mixture) - H(normal), about m^2 / 2 nats for a small m."""
    m = math.sqrt(2 * 0.01 * shift)
    codes = Codes(torch.tensor([[m], [-m]], dtype=torch.float64), torch.ones(2, 1, dtype=torch.float64))
    assert InformativeLatents()(codes).per_latent[0] == pytest.approx(0.01 * shift, rel=0.02)
    assert InformativeLatents()(codes).value == (shift > 1)
    assert InformativeLatents(min_information=0.02)(codes).value == 0


def test_narrow_posteriors_are_counted_by_their_mean_std():
    codes = Codes(torch.randn(6, 3, generator=torch.Generator().manual_seed(0)), torch.tensor([[0.3, 0.5, 0.39]] * 6))
    assert InformativeLatents()(codes).parts["narrow"].value == 2
    assert InformativeLatents(max_std=0.35)(codes).parts["narrow"].value == 1
    weighted = dataclasses.replace(codes, std=torch.tensor([[0.3] * 3] * 3 + [[0.9] * 3] * 3))
    assert InformativeLatents()(weighted).parts["narrow"].value == 0
    weighted = dataclasses.replace(weighted, weights=torch.tensor([1.0, 1, 1, 0, 0, 0]))
    assert InformativeLatents()(weighted).parts["narrow"].value == 3


def test_every_estimator_finds_what_informativeness_says():
    codes = random_codes(1)
    drawn = Informativeness(Sampled(num_samples=2000))(codes)
    assert InformativeLatents(Sampled(num_samples=2000))(codes).value == sum(nats > 0.01 for nats in drawn.per_latent)
    still = dataclasses.replace(codes, std=torch.zeros_like(codes.std))
    assert InformativeLatents(Quantized())(still).value == 3


def test_an_uncertain_latent_widens_the_interval():
    """20 images: whether a latent with I near the threshold counts is not sure."""
    mean = 0.15 * torch.randn(20, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    low, high = InformativeLatents()(Codes(mean, torch.ones_like(mean))).interval
    assert low < high <= 4


@pytest.mark.parametrize("settings", [{"min_information": -0.1}, {"max_std": math.nan}])
def test_thresholds_that_cannot_be_are_refused(settings):
    with pytest.raises(SpecError, match="expected 0 or more"):
        InformativeLatents(**settings)
