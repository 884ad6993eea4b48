"""Likelihoods are log-likelihoods: sums over pixels with every constant. Three peers' are not (a factor of 255, of 3,
or a missing constant).
"""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import grad, vmap

from unbraid.errors import SpecError
from unbraid.models.distributions import (
    BernoulliLikelihood,
    ContinuousBernoulliLikelihood,
    GaussianLikelihood,
    LaplaceLikelihood,
    LearnedGaussianLikelihood,
)

LIKELIHOODS = [
    BernoulliLikelihood(),
    GaussianLikelihood(),
    GaussianLikelihood(std=0.1),
    ContinuousBernoulliLikelihood(),
    LaplaceLikelihood(),
    LearnedGaussianLikelihood(),
]


def images(seed=0, batch=3, channels=2, size=4):
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, channels, size, size)
    x = torch.rand(shape, dtype=torch.float64, generator=generator).round()
    return x, 3 * torch.randn(shape, dtype=torch.float64, generator=generator)


def pixel(value):
    return torch.tensor(value).reshape(1, 1, 1, 1)


# Known answers


def test_bernoulli_is_scipys_summed_over_pixels_and_channels():
    x, logits = images()
    expected = scipy.stats.bernoulli.logpmf(x.numpy(), scipy.special.expit(logits.numpy())).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(BernoulliLikelihood().log_prob(x, logits).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("std", [1.0, 0.1, 3.0])
def test_gaussian_is_scipys_summed_over_pixels_and_channels(std):
    x, output = images()
    expected = scipy.stats.norm.logpdf(x.numpy(), output.numpy(), std).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(GaussianLikelihood(std=std).log_prob(x, output).numpy(), expected, rtol=1e-12)


def test_a_perfect_gaussian_reconstruction_still_has_its_constant():
    x, _ = images()
    expected = torch.full((3,), -0.5 * math.log(2 * math.pi) * x[0].numel(), dtype=torch.float64)
    torch.testing.assert_close(GaussianLikelihood().log_prob(x, x), expected)


def test_an_undecided_bernoulli_costs_log_2_a_pixel():
    x, _ = images()
    expected = torch.full((3,), -math.log(2) * x[0].numel(), dtype=torch.float64)
    torch.testing.assert_close(BernoulliLikelihood().log_prob(x, torch.zeros_like(x)), expected)


def test_a_gray_pixel_costs_its_cross_entropy():
    gray, probability = 0.3, 0.8
    found = BernoulliLikelihood().log_prob(pixel(gray), pixel(math.log(probability / (1 - probability))))
    assert found.item() == pytest.approx(
        gray * math.log(probability) + (1 - gray) * math.log(1 - probability), rel=1e-6
    )


def test_the_image_shown_is_the_mean():
    _, output = images()
    torch.testing.assert_close(BernoulliLikelihood().mean(output), torch.sigmoid(output))
    assert GaussianLikelihood().mean(output) is output


# Laws


@given(probability=st.floats(0.01, 0.99))
def test_bernoulli_sums_to_one_over_black_and_white(probability):
    logit = pixel(math.log(probability / (1 - probability))).double()
    total = sum(BernoulliLikelihood().log_prob(pixel(x).double(), logit).exp() for x in (0.0, 1.0))
    assert total.item() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("std", [1.0, 0.1])
def test_gaussian_integrates_to_one(std):
    x = torch.linspace(-10, 10, 20_001, dtype=torch.float64).reshape(-1, 1, 1, 1)
    density = GaussianLikelihood(std=std).log_prob(x, torch.full_like(x, 0.4)).exp()
    assert torch.trapezoid(density, dx=1e-3).item() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_twice_the_pixels_have_twice_the_log_likelihood(likelihood):
    x, output = images()
    twice = likelihood.log_prob(torch.cat([x, x], dim=3), torch.cat([output, output], dim=3))
    torch.testing.assert_close(twice, 2 * likelihood.log_prob(x, output))


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_images_do_not_see_each_other(likelihood):
    x, output = images()
    torch.testing.assert_close(likelihood.log_prob(x, output)[1:2], likelihood.log_prob(x[1:2], output[1:2]))


# Numbers and transformations


@pytest.mark.parametrize("logit", [200.0, 1e4, 1e30])
def test_extreme_logits_stay_finite(logit):
    right = BernoulliLikelihood().log_prob(pixel(1.0), pixel(logit))
    wrong = BernoulliLikelihood().log_prob(pixel(0.0), pixel(logit))
    assert right.item() == 0.0
    assert wrong.item() == pytest.approx(-logit)
    slope = grad(lambda output: BernoulliLikelihood().log_prob(pixel(0.0), output).sum())(pixel(logit))
    assert slope.item() == -1.0


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
def test_it_lives_under_vmap_and_grad(likelihood):
    x, output = images(batch=6)
    x, output = x.unflatten(0, (2, 3)), output.unflatten(0, (2, 3))

    def loss(output, x):
        return likelihood.log_prob(x, output).sum()

    together = vmap(grad(loss))(output, x)
    alone = torch.stack([grad(loss)(output[member], x[member]) for member in range(2)])
    torch.testing.assert_close(together, alone)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_keeps_the_precision_it_is_given(likelihood, dtype):
    x, output = (tensor.to(dtype) for tensor in images())
    assert likelihood.log_prob(x, output).dtype == likelihood.mean(output).dtype == dtype


def test_means_of_any_number_of_batch_axes_are_taken():
    assert BernoulliLikelihood().mean(torch.zeros(5, 2, 1, 4, 4)).shape == (5, 2, 1, 4, 4)
    assert GaussianLikelihood().mean(torch.zeros(1, 4, 4)).shape == (1, 4, 4)


# Errors


@pytest.mark.parametrize("std", [0.0, -1.0, math.nan, math.inf])
def test_a_std_that_is_none_is_refused(std):
    with pytest.raises(SpecError, match=f"GaussianLikelihood: std is {std}"):
        GaussianLikelihood(std=std)
