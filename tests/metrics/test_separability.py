"""Separability: closed forms and laws."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.latent_codes import grid, latents, prior_like, random_codes, with_noise
from unbraid.codes import Codes
from unbraid.information.posteriors import Draws
from unbraid.metrics.elbo_decomposition import ELBODecomposition
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.separability import Separability


def test_a_correlated_gaussian_shares_half_the_log_of_one_minus_rho_squared():
    """All posteriors equal and correlated: q(z) is that Gaussian."""
    rho = 0.8
    covariance = torch.tensor([[1.0, rho], [rho, 1.0]], dtype=torch.float64).expand(5, 2, 2)
    score = Separability(Sampled(num_samples=4000))(
        Codes(torch.zeros(5, 2, dtype=torch.float64), covariance=covariance)
    )
    expected = -0.5 * math.log(1 - rho**2)
    assert score.per_latent == pytest.approx([expected] * 2, abs=0.06)
    assert score.interval[0] < expected < score.interval[1]


def test_a_full_grid_is_fully_separable():
    score = Separability(Sampled(num_samples=100))(grid((3, 4, 2)))
    assert score.per_latent == pytest.approx([0] * 3, abs=1e-9)
    assert score.settled is True


def test_copies_far_apart_share_the_whole_image():
    score = Separability(Sampled(num_samples=100))(latents(grid((6,), std=0.01), [0, 0]))
    assert score.value == pytest.approx(math.log(6), abs=1e-9)


def test_posteriors_equal_to_the_prior_share_nothing():
    assert Separability(Sampled(num_samples=100))(prior_like(10, 4)).per_latent == pytest.approx([0] * 4, abs=1e-9)


def test_a_single_latent_has_nothing_to_share_with():
    assert Separability(Sampled(num_samples=100))(random_codes(0, num_latents=1)).value == pytest.approx(0, abs=1e-12)


def test_the_value_is_the_mean_and_the_extremes_are_parts():
    score = Separability(Sampled(num_samples=100))(random_codes(0))
    assert score.value == pytest.approx(sum(score.per_latent) / 3)
    assert (score.parts["max"].value, score.parts["min"].value) == (max(score.per_latent), min(score.per_latent))


@settings(max_examples=10)
@given(seed=st.integers(0, 100))
def test_two_latents_share_their_total_correlation(seed):
    shared = Statistics(random_codes(seed, num_latents=2))
    total = ELBODecomposition(Sampled(num_samples=40)).of(shared).value
    assert Separability(Sampled(num_samples=40)).of(shared).per_latent == pytest.approx([total] * 2, abs=1e-10)


@settings(max_examples=10)
@given(seed=st.integers(0, 100))
def test_a_latent_without_information_shares_nothing_and_changes_nothing(seed):
    codes = random_codes(seed)
    generator = torch.Generator().manual_seed(seed)
    z = codes.mean + codes.std * torch.randn(30, 3, dtype=torch.float64, generator=generator)
    noise = torch.randn(30, 1, dtype=torch.float64, generator=generator)
    before = Separability().of(Statistics(codes, draws=Draws.of(z, torch.arange(30)))).per_latent
    after = (
        Separability()
        .of(Statistics(with_noise(codes, 1), draws=Draws.of(torch.cat([z, noise], dim=1), torch.arange(30))))
        .per_latent
    )
    assert after == pytest.approx([*before, 0.0], abs=1e-9)
