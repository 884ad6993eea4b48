"""The standard normal prior."""

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import vmap

from unbraid.models.distributions import DiagonalGaussian, Posterior, StandardNormalPrior


class Odd(Posterior):
    """A posterior for which nobody has worked out the KL: log q(z_j | x) is 3 z_j, and log q(z | x) is 1 more than
    their sum.
    """

    def __init__(self, is_factorized=True):
        self._is_factorized = is_factorized

    @property
    def mean(self):
        return torch.zeros(1, 1)

    @property
    def is_factorized(self):
        return self._is_factorized

    def rsample(self, noise):
        return noise

    def log_prob(self, z):
        return 3 * z

    def joint_log_prob(self, z, latents):
        return self.log_prob(z)[:, list(latents)].sum(dim=1) + (0 if self.is_factorized else 1)


@given(z=st.floats(-30, 30))
def test_log_prob_is_scipys(z):
    found = StandardNormalPrior().log_prob(torch.tensor([[z]], dtype=torch.float64))
    assert found.item() == pytest.approx(scipy.stats.norm.logpdf(z), rel=1e-12)


def test_it_is_the_posterior_with_mean_0_and_std_1():
    z = torch.linspace(-3, 3, 8, dtype=torch.float64).reshape(4, 2)
    same = DiagonalGaussian(torch.zeros_like(z), torch.zeros_like(z))
    torch.testing.assert_close(StandardNormalPrior().log_prob(z), same.log_prob(z))


def test_kl_from_a_gaussian_is_its_closed_form():
    posterior = DiagonalGaussian(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 0.0]]))
    # KL(N(1, 1) || N(0, 1)) is half the squared distance of the means.
    torch.testing.assert_close(StandardNormalPrior().kl_from(posterior, torch.zeros(1, 2)), torch.tensor([[0.5, 0.0]]))


def test_it_lives_under_vmap():
    z = torch.linspace(-3, 3, 12, dtype=torch.float64).reshape(2, 3, 2)
    torch.testing.assert_close(vmap(StandardNormalPrior().log_prob)(z)[1], StandardNormalPrior().log_prob(z[1]))


def test_without_a_closed_form_the_kl_is_the_log_ratio_at_the_draw():
    z = torch.tensor([[0.5, -1.0], [2.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(StandardNormalPrior().kl_from(Odd(), z), 3 * z - StandardNormalPrior().log_prob(z))


def test_what_the_joint_has_beyond_the_latents_is_shared_equally():
    z = torch.tensor([[0.5, -1.0], [2.0, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(
        StandardNormalPrior().kl_from(Odd(is_factorized=False), z), StandardNormalPrior().kl_from(Odd(), z) + 0.5
    )


def test_a_draw_is_the_noise():
    noise = torch.linspace(-3, 3, 8).reshape(4, 2)
    assert StandardNormalPrior().sample(noise) is noise
