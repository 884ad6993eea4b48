"""The KL in three parts: they sum to it, and each has its closed form."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.latent_codes import correlated_codes, grid, prior_like, random_codes
from unbraid.codes import Codes
from unbraid.information.posteriors import Draws
from unbraid.metrics.elbo_decomposition import ELBODecomposition
from unbraid.metrics.statistics import Statistics


def analytic_kl(codes):
    return float((0.5 * (codes.mean**2 + codes.std**2 - 1) - codes.std.log()).sum(dim=1).mean())


def total(score):
    return score.value + score.parts["mutual_information"].value + score.parts["dimension_wise_kl"].value


@settings(max_examples=15)
@given(seed=st.integers(0, 100), num_latents=st.integers(1, 4))
def test_the_parts_sum_to_the_analytic_kl(seed, num_latents):
    codes = random_codes(seed, num_latents=num_latents)
    score = ELBODecomposition(num_samples=30)(codes)
    assert total(score) == pytest.approx(analytic_kl(codes), abs=1e-10)
    assert score.parts["kl"].value == pytest.approx(analytic_kl(codes), abs=1e-10)


def test_the_kl_of_correlated_posteriors_is_that_of_the_full_gaussian():
    codes = correlated_codes(0)
    posterior = torch.distributions.MultivariateNormal(codes.mean, codes.covariance)
    prior = torch.distributions.MultivariateNormal(
        torch.zeros(2, dtype=torch.float64), torch.eye(2, dtype=torch.float64)
    )
    expected = float(torch.distributions.kl_divergence(posterior, prior).mean())
    assert total(ELBODecomposition(num_samples=30)(codes)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=15)
@given(seed=st.integers(0, 100))
def test_on_draws_the_parts_sum_to_the_average_log_ratio(seed):
    codes = random_codes(seed)
    z = codes.mean + codes.std * torch.randn(30, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    score = ELBODecomposition(conditional="mc").of(Statistics(codes, draws=Draws.of(z, torch.arange(30))))
    posterior, prior = torch.distributions.Normal(codes.mean, codes.std), torch.distributions.Normal(0.0, 1.0)
    expected = float((posterior.log_prob(z) - prior.log_prob(z)).sum(dim=1).mean())
    assert total(score) == pytest.approx(expected, abs=1e-9)


def test_collapsed_posteriors_have_nothing_in_any_part():
    score = ELBODecomposition(num_samples=200, conditional="mc")(prior_like(10, 3))
    assert [score.value, *(part.value for part in score.parts.values())] == pytest.approx([0] * 4, abs=1e-9)


def test_a_full_grid_has_no_total_correlation():
    assert ELBODecomposition(num_samples=100)(grid((3, 4, 2))).value == pytest.approx(0, abs=1e-9)


def test_a_gaussian_has_minus_half_the_log_determinant_of_its_correlations():
    """Equal posteriors with covariance (1 - r) I + r 11': eigenvalues 1 - r, twice, and 1 + 2 r."""
    rho = 0.7
    covariance = ((1 - rho) * torch.eye(3, dtype=torch.float64) + rho).expand(4, 3, 3)
    score = ELBODecomposition(num_samples=4000)(Codes(torch.zeros(4, 3, dtype=torch.float64), covariance=covariance))
    expected = -0.5 * (2 * math.log(1 - rho) + math.log(1 + 2 * rho))
    assert score.interval[0] < expected < score.interval[1]
    assert score.value == pytest.approx(expected, abs=0.1)


def test_the_kl_of_each_latent_is_that_of_its_marginal():
    """Latents far from the prior: KL(N(3, 1) || N(0, 1)) = 9 / 2."""
    codes = prior_like(10, 2)
    codes.mean[:, 1] = 3.0
    assert ELBODecomposition(num_samples=500, conditional="mc")(codes).per_latent == pytest.approx([0, 4.5], abs=0.3)


def test_groups_split_the_total_correlation():
    codes = random_codes(0, num_latents=4)
    plain = ELBODecomposition(num_samples=60)(codes)
    score = ELBODecomposition(num_samples=60)(
        dataclasses.replace(codes, groups=((0, 3), (1,)))
    )  # latent 2 is a group of its own
    assert score.parts["between_groups"].value + score.parts["within_groups"].value == pytest.approx(
        plain.value, abs=1e-9
    )
    pair = ELBODecomposition().of(Statistics(Codes(codes.mean[:, [0, 3]], codes.std[:, [0, 3]]), draws=_pair(codes)))
    assert score.tables["within_each_group"].tolist() == pytest.approx([pair.value, 0.0], abs=1e-9)


def _pair(codes):
    draws = Statistics(codes).draws(60, 0)
    return Draws.of(draws.z[:, [0, 3]], draws.image)


def test_one_group_of_all_has_everything_within():
    score = ELBODecomposition(num_samples=60)(dataclasses.replace(random_codes(0), groups=((0, 1, 2),)))
    assert score.parts["within_groups"].value == pytest.approx(score.value, abs=1e-9)
    assert score.parts["between_groups"].value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("conditional", ["analytic", "mc"])
def test_a_discrete_latent_has_a_uniform_prior(conditional):
    """Known category of four: I = log 4, and its marginal is the prior."""
    codes = Codes(
        torch.zeros(8, 1, dtype=torch.float64),
        torch.ones(8, 1, dtype=torch.float64),
        probabilities=(torch.eye(4, dtype=torch.float64).repeat(2, 1),),
    )
    score = ELBODecomposition(num_samples=80, conditional=conditional)(codes)
    assert score.parts["kl"].value == pytest.approx(math.log(4), abs=1e-9)
    assert score.per_latent[1] == pytest.approx(0, abs=1e-9)
