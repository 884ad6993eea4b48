"""Gaussian total correlation: closed forms, invariance, and what is left out."""

import dataclasses
import math
import statistics as stats

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.metrics.latent_codes import correlated_codes, grid, latents, random_codes, rows
from unbraid.codes import Codes
from unbraid.errors import CodesError, SpecError
from unbraid.metrics.gaussian_total_correlation import GaussianTotalCorrelation

METRIC = GaussianTotalCorrelation()


def codes_with(covariance, num_images=12):
    """Means that have this covariance exactly."""
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(num_images, len(covariance), dtype=torch.float64, generator=generator)
    z = z - z.mean(dim=0)
    white = z @ torch.linalg.inv(torch.linalg.cholesky(z.T @ z / num_images)).T
    mean = white @ torch.linalg.cholesky(covariance).T
    return Codes(mean, torch.ones_like(mean))


# Known answers


@pytest.mark.parametrize("rho", [0.0, 0.5, -0.3])
def test_equal_correlations_have_a_closed_form(rho):
    """(1 - r) I + r 11' has the eigenvalues 1 - r, L - 1 times, and 1 + (L - 1) r."""
    covariance = (1 - rho) * torch.eye(3, dtype=torch.float64) + rho
    expected = -0.5 * (2 * math.log(1 - rho) + math.log(1 + 2 * rho))
    assert METRIC(codes_with(covariance)).value == pytest.approx(expected, abs=1e-9)


def test_a_grid_has_none():
    assert METRIC(grid((3, 4, 2))).value == pytest.approx(0, abs=1e-12)


def test_the_aggregate_posterior_is_wider_by_the_posteriors():
    """Cov of q(z) = E[Sigma] + Cov(mu): the correlation of 0.8 becomes 0.4 under unit variances."""
    codes = codes_with(torch.tensor([[1.0, 0.8], [0.8, 1.0]], dtype=torch.float64))
    assert METRIC(codes).value == pytest.approx(-0.5 * math.log(1 - 0.8**2), abs=1e-9)
    aggregate = GaussianTotalCorrelation("aggregate")
    assert aggregate(codes).value == pytest.approx(-0.5 * math.log(1 - 0.4**2), abs=1e-9)
    full = Codes(codes.mean, covariance=torch.eye(2, dtype=torch.float64).expand(12, 2, 2))
    assert aggregate(full).value == pytest.approx(aggregate(codes).value, abs=1e-12)
    assert aggregate(full).interval == pytest.approx(aggregate(codes).interval, abs=1e-12)


def test_correlated_posteriors_count_in_the_aggregate():
    codes = correlated_codes(0, rho=0.9)
    codes.mean[:] = 0
    covariance = codes.covariance.mean(dim=0)
    expected = -0.5 * math.log(1 - float(covariance[0, 1] ** 2 / (covariance[0, 0] * covariance[1, 1])))
    assert GaussianTotalCorrelation("aggregate")(codes).value == pytest.approx(expected)


def test_dependence_without_correlation_is_not_seen():
    x = torch.linspace(-1, 1, 21, dtype=torch.float64)
    codes = Codes(torch.stack([x, x**2], dim=1), torch.ones(21, 2, dtype=torch.float64))
    assert METRIC(codes).value == pytest.approx(0, abs=1e-12)


def test_one_latent_has_nothing_to_correlate_with():
    assert METRIC(random_codes(0, num_latents=1)).value == pytest.approx(0, abs=1e-12)


# Laws


@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_score_ignores_order_scale_and_sign(seed, order):
    codes = random_codes(seed)
    moved = latents(rows(codes, torch.arange(30).flip(0)), order)
    scaled = dataclasses.replace(moved, mean=moved.mean * torch.tensor([1e3, -2.0, 0.01]) + 7)
    assert METRIC(scaled).value == pytest.approx(METRIC(codes).value, abs=1e-7)


def test_weights_count_like_repetitions():
    codes = random_codes(0)
    counts = 1 + torch.arange(30) % 3
    for metric in (METRIC, GaussianTotalCorrelation("aggregate")):
        weighted = metric(dataclasses.replace(codes, weights=counts.double())).value
        assert weighted == pytest.approx(
            metric(rows(codes, torch.arange(30).repeat_interleave(counts))).value, abs=1e-10
        )


@pytest.mark.parametrize("covariance", ["means", "aggregate"])
def test_the_interval_is_as_wide_as_the_spread_of_other_samples(covariance):
    scores = [GaussianTotalCorrelation(covariance)(random_codes(seed, num_images=300)) for seed in range(80)]
    spread = stats.stdev(score.value for score in scores)
    error = stats.mean((score.interval[1] - score.interval[0]) / 2 / 1.96 for score in scores)
    assert 0.75 * spread < error < 1.3 * spread


# Edges


def test_a_dead_latent_is_left_out_and_named():
    codes = random_codes(0)
    dead = torch.full((30, 1), 100.0, dtype=torch.float64)
    more = Codes(torch.cat([codes.mean, dead], dim=1), torch.cat([codes.std, dead / 100], dim=1))
    score = METRIC(more)
    assert score.value == pytest.approx(METRIC(codes).value, abs=1e-12)
    assert score.interval == pytest.approx(METRIC(codes).interval, abs=1e-12)
    assert "[3]" in score.notes[0]


def test_a_small_variance_far_from_zero_is_not_dead():
    codes = random_codes(0)
    far = dataclasses.replace(codes, mean=codes.mean * 1e-4 + 100)
    assert METRIC(far).value == pytest.approx(METRIC(codes).value, rel=1e-6)


def test_copies_are_infinite_and_said_to_be():
    score = METRIC(latents(random_codes(0), [0, 1, 0]))
    assert score.value == math.inf
    assert score.interval is None
    assert "linear functions" in score.notes[0]


def test_all_dead_is_nothing():
    codes = Codes(torch.ones(5, 2, dtype=torch.float64), torch.ones(5, 2, dtype=torch.float64))
    assert METRIC(codes).value == 0


def test_means_alone_will_do():
    codes = random_codes(0)
    assert METRIC(Codes(codes.mean)).value == METRIC(codes).value
    with pytest.raises(CodesError, match="means without std"):
        GaussianTotalCorrelation("aggregate")(Codes(codes.mean))


def test_an_unknown_covariance_is_refused():
    with pytest.raises(SpecError, match="means, aggregate"):
        GaussianTotalCorrelation("posterior")
