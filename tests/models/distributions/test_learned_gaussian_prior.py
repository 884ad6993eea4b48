"""The learned Gaussian prior, against torch's multivariate normal."""

import pytest
import torch
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence

from tests.models.distributions.families import drawn, some_prior
from unbraid.models.distributions import (
    FullGaussian,
    GaussianLatents,
    LaplaceLatents,
    LearnedGaussianPrior,
    StandardNormalPrior,
)

FAMILY = GaussianLatents(4, LearnedGaussianPrior())


def as_torch(prior):
    return MultivariateNormal(prior.loc, scale_tril=prior.scale_tril)


def test_it_starts_as_the_standard_normal():
    prior = LearnedGaussianPrior().make(4).double()()
    torch.testing.assert_close(prior.loc, torch.zeros(4, dtype=torch.float64))
    torch.testing.assert_close(prior.scale_tril, torch.eye(4, dtype=torch.float64), atol=1e-7, rtol=0)
    posterior, z = drawn(FAMILY)
    torch.testing.assert_close(
        prior.kl_from(posterior, z), StandardNormalPrior().kl_from(posterior, z), atol=1e-6, rtol=0
    )


def test_the_density_of_any_latents_is_torchs():
    prior, (_, z) = some_prior(FAMILY), drawn(FAMILY)
    covariance = prior.scale_tril @ prior.scale_tril.T
    for latents in ([0, 1, 2, 3], [0, 1], [3, 1], [0, 2, 3], [2], [0]):
        expected = MultivariateNormal(prior.loc[latents], covariance[latents][:, latents]).log_prob(z[:, latents])
        torch.testing.assert_close(prior.joint_log_prob(z, latents), expected)
    marginals = Normal(prior.loc, covariance.diagonal().sqrt()).log_prob(z)
    torch.testing.assert_close(prior.log_prob(z), marginals)


def test_the_kl_of_all_latents_together_is_torchs():
    prior, (posterior, z) = some_prior(FAMILY), drawn(FAMILY)
    expected = kl_divergence(
        MultivariateNormal(posterior.loc, torch.diag_embed(posterior.std.square())), as_torch(prior)
    )
    torch.testing.assert_close(prior.kl_from(posterior, z).sum(dim=1), expected)
    by_marginals = kl_divergence(
        Normal(posterior.loc, posterior.std), Normal(prior.loc, prior.scale_tril.square().sum(1).sqrt())
    )
    assert not torch.allclose(by_marginals.sum(dim=1), expected)  # the sum over marginals is another number
    share = prior.kl_from(posterior, z) - by_marginals
    torch.testing.assert_close(share, share[:, :1].expand_as(share))


def test_a_diagonal_prior_has_the_kl_latent_by_latent():
    posterior, z = drawn(FAMILY)
    loc, std = torch.tensor([0.1, -1.0, 2.0, 0.0]).double(), torch.tensor([0.5, 1.0, 2.0, 3.0]).double()
    expected = kl_divergence(Normal(posterior.loc, posterior.std), Normal(loc, std))
    torch.testing.assert_close(FullGaussian(loc, torch.diag(std)).kl_from(posterior, z), expected)
    joint = kl_divergence(Independent(Normal(posterior.loc, posterior.std), 1), Independent(Normal(loc, std), 1))
    torch.testing.assert_close(FullGaussian(loc, torch.diag(std)).kl_from(posterior, z).sum(dim=1), joint)


def test_draws_have_the_covariance():
    prior = some_prior(FAMILY)
    z = prior.sample(torch.randn(100_000, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))
    torch.testing.assert_close(torch.cov(z.T), prior.scale_tril @ prior.scale_tril.T, atol=0.1, rtol=0.05)


def test_the_diagonal_stays_positive_wherever_learning_goes():
    module = LearnedGaussianPrior().make(3)
    with torch.no_grad():
        module.diagonal.fill_(-50.0)
        module.below.fill_(2.0)
    tril = module().scale_tril
    assert bool((tril.diagonal() > 0).all())
    assert tril.triu(1).abs().sum().item() == 0.0
    assert tril[1, 0].item() == tril[2, 0].item() == tril[2, 1].item() == 2.0


@pytest.mark.parametrize(("size", "count"), [(1, 2), (2, 5), (10, 65)])
def test_it_has_a_mean_and_a_triangle_to_learn(size, count):
    assert sum(parameter.numel() for parameter in LearnedGaussianPrior().make(size).parameters()) == count


def test_a_posterior_that_is_not_gaussian_has_the_log_ratio():
    latents = LaplaceLatents(3, LearnedGaussianPrior())
    posterior, z = drawn(latents)
    prior = some_prior(latents)
    assert prior.closed_form_kl_from(posterior) is None
    expected = posterior.joint_log_prob(z, range(3)) - prior.joint_log_prob(z, range(3))
    torch.testing.assert_close(prior.kl_from(posterior, z).sum(dim=1), expected)
