"""The Gaussian likelihood with a learned std."""

import math

import pytest
import torch
from torch.func import functional_call, grad, vmap

from unbraid.errors import SpecError
from unbraid.models.distributions import GaussianLikelihood, LearnedGaussianLikelihood


def images(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(3, 1, 4, 4, dtype=torch.float64, generator=generator) for _ in range(2))


def test_it_starts_as_the_gaussian_of_its_initial_std():
    x, output = images()
    config = LearnedGaussianLikelihood(0.5)
    expected = GaussianLikelihood(0.5).log_prob(x, output)
    torch.testing.assert_close(config.make().double()().log_prob(x, output), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(config.log_prob(x, output), expected)
    assert config.mean(output) is output


def test_the_best_variance_is_the_mean_squared_error():
    x, output = images()
    best = 0.5 * (x - output).square().mean().log()
    module = LearnedGaussianLikelihood().make().double()

    def log_likelihood(log_std):
        return functional_call(module, {"log_std": log_std}, ()).log_prob(x, output).sum()

    slope = grad(log_likelihood)(best)
    assert slope.item() == pytest.approx(0.0, abs=1e-9)


def test_one_number_is_learned_by_each_member_of_a_fleet():
    module = LearnedGaussianLikelihood().make().double()
    assert [parameter.shape for parameter in module.parameters()] == [()]
    x, output = images()

    def loss(log_std):
        return functional_call(module, {"log_std": log_std}, ()).log_prob(x, output).sum()

    log_stds = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
    together = vmap(grad(loss))(log_stds)
    torch.testing.assert_close(together, torch.stack([grad(loss)(log_std) for log_std in log_stds]))


def test_a_learned_one_is_equal_to_its_config():
    config = LearnedGaussianLikelihood(0.5)
    assert config.make()() == config


@pytest.mark.parametrize("std", [0.0, -1.0, math.nan, math.inf])
def test_a_std_that_is_none_is_refused(std):
    with pytest.raises(SpecError, match=f"LearnedGaussianLikelihood: initial_std is {std}"):
        LearnedGaussianLikelihood(std)
