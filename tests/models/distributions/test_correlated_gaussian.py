"""Correlated noise: the true density against torch's, the diagonal one where only the noise is replaced."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal, kl_divergence

from tests.models.distributions.families import drawn, normal
from unbraid.errors import SpecError
from unbraid.models.distributions import (
    CorrelatedGaussian,
    CorrelatedGaussianLatents,
    DiagonalGaussian,
    FullGaussian,
    StandardNormalPrior,
)
from unbraid.models.distributions.posteriors.gaussian import equicorrelation_log_det

EXACT, PLAIN = CorrelatedGaussianLatents(4, rho=0.9, exact_kl=True), CorrelatedGaussianLatents(4, rho=0.9)


def as_torch(posterior, latents=slice(None)):
    return MultivariateNormal(posterior.loc[:, latents], posterior.covariance[:, latents][:, :, latents])


# Known answers


@pytest.mark.parametrize("latents", [[0, 1, 2, 3], [1, 3], [2]])
def test_the_exact_density_of_any_latents_is_torchs(latents):
    posterior, z = drawn(EXACT)
    torch.testing.assert_close(
        posterior.joint_log_prob(z, latents), as_torch(posterior, latents).log_prob(z[:, latents])
    )
    pairwise = as_torch(posterior, latents).log_prob(z[:, None, latents])
    torch.testing.assert_close(posterior.pairwise_joint_log_prob(z, latents), pairwise)


def test_the_exact_kl_is_torchs():
    posterior, z = drawn(EXACT)
    standard = MultivariateNormal(torch.zeros(4, dtype=torch.float64), torch.eye(4, dtype=torch.float64))
    torch.testing.assert_close(
        StandardNormalPrior().kl_from(posterior, z).sum(dim=1), kl_divergence(as_torch(posterior), standard)
    )


def test_the_exact_kl_to_a_learned_prior_is_torchs():
    posterior, z = drawn(EXACT)
    tril = torch.eye(4, dtype=torch.float64) + 0.3 * torch.ones(4, 4, dtype=torch.float64).tril()
    prior = FullGaussian(torch.arange(4.0, dtype=torch.float64), tril)
    expected = kl_divergence(as_torch(posterior), MultivariateNormal(prior.loc, scale_tril=tril))
    torch.testing.assert_close(prior.kl_from(posterior, z).sum(dim=1), expected)


def test_the_log_determinant_follows_from_the_eigenvalues():
    """1 - rho, L - 1 times, and 1 + (L - 1) rho."""
    matrix = 0.1 * torch.eye(4, dtype=torch.float64) + 0.9
    torch.testing.assert_close(torch.linalg.eigvalsh(matrix), torch.tensor([0.1, 0.1, 0.1, 3.7], dtype=torch.float64))
    assert equicorrelation_log_det(4, 0.9) == pytest.approx(torch.linalg.slogdet(matrix).logabsdet.item(), rel=1e-12)


def test_the_total_correlation_given_an_image_is_half_the_log_determinant():
    """TC(z | x) = -log det / 2: what the exact KL has beyond the diagonal one."""
    posterior, z = drawn(EXACT)
    diagonal = DiagonalGaussian(posterior.loc, posterior.log_var)
    beyond = StandardNormalPrior().kl_from(posterior, z).sum(dim=1) - StandardNormalPrior().kl_from(diagonal, z).sum(
        dim=1
    )
    torch.testing.assert_close(beyond, torch.full_like(beyond, -0.5 * equicorrelation_log_det(4, 0.9)))


# Laws


def test_by_default_only_the_noise_is_replaced():
    posterior, z = drawn(PLAIN)
    diagonal = DiagonalGaussian(posterior.loc, posterior.log_var)
    torch.testing.assert_close(posterior.joint_log_prob(z, range(4)), diagonal.joint_log_prob(z, range(4)))
    torch.testing.assert_close(
        posterior.pairwise_joint_log_prob(z, [0, 2]), diagonal.pairwise_joint_log_prob(z, [0, 2])
    )
    torch.testing.assert_close(posterior.kl_to_standard_normal(), diagonal.kl_to_standard_normal())
    assert posterior.is_factorized


@pytest.mark.parametrize("latents", [EXACT, PLAIN])
def test_metrics_see_the_truth_in_either_case(latents):
    posterior, _ = drawn(latents)
    std = posterior.std
    torch.testing.assert_close(
        posterior.covariance, std[:, :, None] * std[:, None, :] * (0.1 * torch.eye(4, dtype=torch.float64) + 0.9)
    )


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_draws_have_the_correlation(rho):
    generator = torch.Generator().manual_seed(0)
    zeros = torch.zeros(100_000, 3, dtype=torch.float64)
    noise = torch.randn(100_000, 4, dtype=torch.float64, generator=generator)
    found = torch.corrcoef(CorrelatedGaussian(zeros, zeros, rho, exact=False).rsample(noise).T)
    torch.testing.assert_close(found, (1 - rho) * torch.eye(3, dtype=torch.float64) + rho, atol=0.01, rtol=0)


def test_without_correlation_it_is_the_diagonal_gaussian():
    posterior, z = drawn(CorrelatedGaussianLatents(4, rho=0.0, exact_kl=True))
    diagonal = DiagonalGaussian(posterior.loc, posterior.log_var)
    torch.testing.assert_close(posterior.joint_log_prob(z, range(4)), diagonal.joint_log_prob(z, range(4)))
    noise = normal(5, 5)
    torch.testing.assert_close(posterior.rsample(noise), diagonal.rsample(noise[:, :4]))
    torch.testing.assert_close(posterior.kl_to_standard_normal(), diagonal.kl_to_standard_normal())


def test_a_draw_takes_one_number_more_than_there_are_latents():
    assert (EXACT.num_noise, EXACT.num_columns) == (5, 4)


# Errors


@pytest.mark.parametrize("rho", [1.0, -0.1, 1.5, math.nan])
def test_a_correlation_outside_its_interval_is_refused(rho):
    with pytest.raises(SpecError, match=f"CorrelatedGaussianLatents: rho is {rho}"):
        CorrelatedGaussianLatents(rho=rho)


def test_no_latents_are_refused():
    with pytest.raises(SpecError, match="CorrelatedGaussianLatents: size"):
        CorrelatedGaussianLatents(0)
