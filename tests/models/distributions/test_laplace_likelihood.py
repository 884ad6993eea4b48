"""The Laplace likelihood is the L1 loss with its constant; a peer's is three times the L1 loss."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from unbraid.models.distributions import GaussianLikelihood, LaplaceLikelihood


def test_it_is_scipys_summed_over_pixels_and_channels():
    generator = torch.Generator().manual_seed(0)
    x, output = (torch.randn(3, 2, 4, 4, dtype=torch.float64, generator=generator) for _ in range(2))
    expected = scipy.stats.laplace.logpdf(x.numpy(), output.numpy()).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(LaplaceLikelihood().log_prob(x, output).numpy(), expected, rtol=1e-12)


def test_a_perfect_reconstruction_costs_log_2_a_pixel():
    x = torch.zeros(2, 3, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(
        LaplaceLikelihood().log_prob(x, x), torch.full((2,), -48 * math.log(2), dtype=torch.float64)
    )


def test_the_image_shown_is_the_mean():
    output = torch.ones(2, 1, 3, 3)
    assert LaplaceLikelihood().mean(output) is output


@pytest.mark.parametrize("config", [LaplaceLikelihood, GaussianLikelihood])
def test_with_a_sigmoid_it_is_the_likelihood_around_the_sigmoid_of_the_output(config):
    generator = torch.Generator().manual_seed(0)
    x, output = (torch.randn(3, 2, 4, 4, dtype=torch.float64, generator=generator) for _ in range(2))
    squashed = output.sigmoid()
    assert torch.equal(config(sigmoid=True).log_prob(x, output), config().log_prob(x, squashed))
    assert torch.equal(config(sigmoid=True).mean(output), squashed)
    assert config(sigmoid=True).of_intensities
    assert not config().of_intensities
