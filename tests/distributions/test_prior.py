"""The standard normal prior."""

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import vmap

from unbraid.distributions import DiagonalGaussian, Posterior, StandardNormal
from unbraid.errors import SpecError


class Odd(Posterior):
    """A posterior for which nobody has worked out the KL."""

    @property
    def mean(self):
        return torch.zeros(1, 1)

    def rsample(self, noise):
        return noise

    def log_prob(self, z):
        return z

    def pairwise_log_prob(self, z):
        return z[:, None]


@given(z=st.floats(-30, 30))
def test_log_prob_is_scipys(z):
    found = StandardNormal().log_prob(torch.tensor([[z]], dtype=torch.float64))
    assert found.item() == pytest.approx(scipy.stats.norm.logpdf(z), rel=1e-12)


def test_it_is_the_posterior_with_mean_0_and_std_1():
    z = torch.linspace(-3, 3, 8, dtype=torch.float64).reshape(4, 2)
    same = DiagonalGaussian(torch.zeros_like(z), torch.zeros_like(z))
    torch.testing.assert_close(StandardNormal().log_prob(z), same.log_prob(z))


def test_kl_from_a_gaussian_is_its_closed_form():
    posterior = DiagonalGaussian(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 0.0]]))
    # KL(N(1, 1) || N(0, 1)) is half the squared distance of the means.
    torch.testing.assert_close(StandardNormal().kl_from(posterior), torch.tensor([[0.5, 0.0]]))


def test_it_lives_under_vmap():
    z = torch.linspace(-3, 3, 12, dtype=torch.float64).reshape(2, 3, 2)
    torch.testing.assert_close(vmap(StandardNormal().log_prob)(z)[1], StandardNormal().log_prob(z[1]))


def test_a_posterior_without_closed_form_is_refused_by_name():
    with pytest.raises(SpecError, match="from Odd to the standard normal.*Gaussian latents"):
        StandardNormal().kl_from(Odd())
