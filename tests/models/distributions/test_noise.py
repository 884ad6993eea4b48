"""Normal numbers become others, to the end of both tails."""

import pytest
import scipy.special
import scipy.stats
import torch

from unbraid.models.distributions.noise import gumbel, laplace, log_ndtr, logistic

N = torch.linspace(-8, 8, 65, dtype=torch.float64)


@pytest.mark.parametrize(
    ("transform", "distribution"),
    [(gumbel, scipy.stats.gumbel_r), (logistic, scipy.stats.logistic), (laplace, scipy.stats.laplace)],
    ids=["gumbel", "logistic", "laplace"],
)
def test_a_quantile_becomes_the_same_quantile(transform, distribution):
    found = transform(N).numpy()
    # Each half by the tail that does not round to 1.
    low, high = N.numpy() <= 0, N.numpy() > 0
    assert distribution.logcdf(found[low]) == pytest.approx(scipy.stats.norm.logcdf(N.numpy()[low]), rel=1e-12)
    assert distribution.logsf(found[high]) == pytest.approx(scipy.stats.norm.logsf(N.numpy()[high]), rel=1e-9)


def test_log_ndtr_is_scipys():
    assert log_ndtr(N).numpy() == pytest.approx(scipy.special.log_ndtr(N.numpy()), rel=1e-13)


@pytest.mark.parametrize("transform", [gumbel, logistic, laplace])
def test_the_ends_of_the_noise_are_finite_in_float32(transform):
    assert bool(transform(torch.tensor([-8.3, 8.3])).isfinite().all())
