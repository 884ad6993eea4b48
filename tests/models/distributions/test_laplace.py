"""Laplace latents and the Laplace prior, against scipy, torch and an integral."""

import pytest
import scipy.stats
import torch
from torch.distributions import Laplace as TorchLaplace
from torch.distributions import Normal, kl_divergence

from tests.models.distributions.families import drawn
from unbraid.errors import SpecError
from unbraid.models.distributions import DiagonalGaussian, Laplace, LaplaceLatents, LaplacePrior, StandardNormalPrior

FAMILY = LaplaceLatents(3)


def test_log_prob_is_scipys():
    posterior, z = drawn(FAMILY)
    expected = scipy.stats.laplace.logpdf(z, posterior.loc, posterior.log_scale.exp())
    torch.testing.assert_close(posterior.log_prob(z), torch.from_numpy(expected))


def test_the_kls_are_torchs():
    posterior, z = drawn(FAMILY)
    same = TorchLaplace(posterior.loc, posterior.log_scale.exp())
    torch.testing.assert_close(
        LaplacePrior().kl_from(posterior, z), kl_divergence(same, TorchLaplace(torch.zeros(3).double(), 1.0))
    )
    torch.testing.assert_close(
        StandardNormalPrior().kl_from(posterior, z), kl_divergence(same, Normal(torch.zeros(3).double(), 1.0))
    )


def test_kl_of_the_prior_to_itself_is_zero():
    zeros = torch.zeros(1, 2)
    assert LaplacePrior().kl_from(Laplace(zeros, zeros), zeros).tolist() == [[0.0, 0.0]]


def test_a_very_narrow_posterior_has_a_finite_kl():
    posterior = Laplace(torch.tensor([[1.0]]), torch.tensor([[-60.0]]))
    assert LaplacePrior().kl_from(posterior, posterior.loc).item() == pytest.approx(60.0)


def test_a_gaussian_posterior_has_the_log_ratio_at_its_draw():
    posterior = DiagonalGaussian(torch.zeros(1, 2), torch.zeros(1, 2))
    z = torch.tensor([[0.3, -2.0]])
    assert LaplacePrior().closed_form_kl_from(posterior) is None
    torch.testing.assert_close(LaplacePrior().kl_from(posterior, z), posterior.log_prob(z) - LaplacePrior().log_prob(z))


def test_draws_have_the_scale():
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(100_000, 1, dtype=torch.float64, generator=generator)
    zeros = torch.zeros_like(noise)
    z = Laplace(zeros + 2.0, zeros + 0.5).rsample(noise)
    assert (z - 2.0).abs().mean().item() == pytest.approx(torch.tensor(0.5).exp().item(), rel=0.01)
    assert LaplacePrior().sample(noise).abs().mean().item() == pytest.approx(1.0, rel=0.01)


def test_metrics_are_given_no_std_for_what_is_not_gaussian():
    assert drawn(FAMILY)[0].gaussian_std is None


def test_no_latents_are_refused():
    with pytest.raises(SpecError, match="LaplaceLatents: size"):
        LaplaceLatents(0)
