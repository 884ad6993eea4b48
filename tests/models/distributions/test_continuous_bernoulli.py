"""The continuous Bernoulli is a density on [0, 1], near 1/2 too."""

import numpy as np
import pytest
import torch
from torch.distributions import ContinuousBernoulli
from torch.func import grad

from unbraid.models.distributions import BernoulliLikelihood, ContinuousBernoulliLikelihood

LIKELIHOOD = ContinuousBernoulliLikelihood()
# For integrals: crowded at the ends, where an extreme logit has all its mass.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(300)
LOGITS = [-300.0, -8.0, -0.2001, -0.1999, -1e-3, -1e-12, 0.0, 1e-6, 0.19, 0.21, 3.0, 50.0]


def pixels(values):
    return torch.as_tensor(values, dtype=torch.float64).reshape(-1, 1, 1, 1)


@pytest.mark.parametrize("logit", LOGITS)
def test_it_integrates_to_one_and_has_its_mean(logit):
    x, w = pixels((NODES + 1) / 2), torch.from_numpy(WEIGHTS / 2)
    density = LIKELIHOOD.log_prob(x, torch.full_like(x, logit)).exp()
    assert (w * density).sum().item() == pytest.approx(1.0, abs=1e-10)
    assert (w * density * x.flatten()).sum().item() == pytest.approx(LIKELIHOOD.mean(pixels([logit])).item(), abs=1e-10)


def test_it_is_torchs():
    x, logits = pixels([0.0, 0.3, 0.5, 1.0]), pixels([2.0, -3.0, 1.0, 4.0])
    same = ContinuousBernoulli(logits=logits)
    torch.testing.assert_close(LIKELIHOOD.log_prob(x, logits), same.log_prob(x).flatten())
    torch.testing.assert_close(LIKELIHOOD.mean(logits), same.mean)


def test_an_undecided_pixel_costs_nothing():
    """The uniform density on [0, 1] is 1. The Bernoulli on gray images charges log 2."""
    x = pixels([0.0, 0.3, 1.0])
    assert LIKELIHOOD.log_prob(x, torch.zeros_like(x)).tolist() == [0.0, 0.0, 0.0]


def test_it_is_the_bernoulli_with_its_normalizer():
    """log C(s), with C(s) = 2 artanh(1 - 2 s) / (1 - 2 s)."""
    x, logits = pixels([0.2]), pixels([1.5])
    s = torch.sigmoid(logits).flatten()
    expected = BernoulliLikelihood().log_prob(x, logits) + (2 * torch.atanh(1 - 2 * s) / (1 - 2 * s)).log()
    torch.testing.assert_close(LIKELIHOOD.log_prob(x, logits), expected)


@pytest.mark.parametrize("logit", [*LOGITS, 1e4, -1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_its_slope_is_the_pixel_minus_the_mean(logit, dtype):
    x, output = pixels([0.4]).to(dtype), pixels([logit]).to(dtype)
    slope = grad(lambda output: LIKELIHOOD.log_prob(x, output).sum())(output)
    torch.testing.assert_close(
        slope, x - LIKELIHOOD.mean(output), atol=2e-6 if dtype == torch.float32 else 1e-12, rtol=0
    )


def test_the_series_meets_the_formula():
    edge = pixels([0.2 * (1 - 1e-12), 0.2 * (1 + 1e-12)])
    values, means = LIKELIHOOD.log_prob(torch.full_like(edge, 0.9), edge), LIKELIHOOD.mean(edge).flatten()
    assert values[0].item() == pytest.approx(values[1].item(), abs=1e-12)
    assert means[0].item() == pytest.approx(means[1].item(), abs=1e-12)
