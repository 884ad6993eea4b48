"""The uniform prior."""

import math

import pytest
import torch
from torch.func import vmap

from unbraid.errors import SpecError
from unbraid.models.distributions import DiagonalGaussian, GaussianLatents, UniformPrior


def test_the_density_is_one_over_the_length_within_and_zero_beyond():
    z = torch.tensor([[-1.0, 0.0, 1.0, 1.001, -5.0]], dtype=torch.float64)
    expected = torch.tensor([[-math.log(2)] * 3 + [-math.inf] * 2], dtype=torch.float64)
    torch.testing.assert_close(UniformPrior(-1.0, 1.0).log_prob(z), expected)
    torch.testing.assert_close(vmap(UniformPrior(-1.0, 1.0).log_prob)(z[None])[0], expected)


def test_draws_fill_the_interval_evenly():
    quantiles = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    z = UniformPrior(-1.0, 3.0).sample(torch.special.ndtri(quantiles)[:, None])
    torch.testing.assert_close(z[:, 0], -1 + 4 * quantiles)


def test_the_ends_of_the_noise_are_within():
    prior = UniformPrior(-1.0, 1.0)
    assert bool(prior.log_prob(prior.sample(torch.tensor([[-9.0, 9.0]]))).isfinite().all())


def test_the_entropy_is_the_mean_of_minus_log_p():
    prior = UniformPrior(0.0, 4.0).make(2)()
    torch.testing.assert_close(-prior.log_prob(prior.sample(torch.zeros(1, 2))), torch.full((1, 2), math.log(4)))


def test_the_kl_from_a_gaussian_is_not_finite_and_the_config_says_so():
    posterior = DiagonalGaussian(torch.zeros(1, 1), torch.zeros(1, 1))
    assert UniformPrior(-1.0, 1.0).closed_form_kl_from(posterior) is None
    assert UniformPrior(-1.0, 1.0).kl_from(posterior, torch.tensor([[2.0]])).item() == math.inf
    assert GaussianLatents(2, UniformPrior()).prior_is_bounded
    assert not GaussianLatents(2).prior_is_bounded


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (1.0, -1.0), (-math.inf, 1.0), (0.0, math.nan)])
def test_an_interval_that_is_none_is_refused(low, high):
    with pytest.raises(SpecError, match="UniformPrior"):
        UniformPrior(low, high)
