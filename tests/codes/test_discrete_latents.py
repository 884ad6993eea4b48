"""Discrete latents as columns, and codes without them."""

import numpy as np
import pytest
import torch

from unbraid.codes import Codes, CodesOptions
from unbraid.errors import CodesError

RNG = np.random.default_rng(1)
MEAN, BINARY, THREE = RNG.standard_normal((6, 2)), RNG.dirichlet(np.ones(2), 6), RNG.dirichlet(np.ones(3), 6)
CODES = Codes.from_arrays(
    MEAN,
    np.full((6, 2), 0.5),
    probabilities=[BINARY, THREE],
    options=CodesOptions(
        groups=[(0, 2), (1, 3)],
        prior={
            "mean": [0.0, 0.0],
            "std": [1.0, 1.0],
            "probabilities_0": [0.5, 0.5],
            "probabilities_1": [0.2, 0.3, 0.5],
        },
    ),
)


def test_probabilities_become_columns_behind_the_means():
    columns = CODES.with_discrete_as_columns()
    assert np.allclose(columns.mean, np.hstack([MEAN, BINARY[:, 1:], THREE]))
    assert columns.std.tolist() == [[0.5, 0.5, 0.0, 0.0, 0.0, 0.0]] * 6
    assert columns.probabilities == ()
    assert columns.groups == ((0, 2), (1, 3, 4, 5))
    assert columns.prior is None


def test_without_discrete_latents_the_others_are_as_they_were():
    continuous = CODES.without_discrete()
    assert torch.equal(continuous.mean, CODES.mean)
    assert continuous.num_latents == 2
    assert continuous.groups == ((0,), (1,))
    assert continuous.prior.probabilities == ()
    assert torch.equal(continuous.prior.covariance, CODES.prior.covariance)


def test_codes_without_discrete_latents_stay_as_they_are():
    continuous = CODES.without_discrete()
    assert continuous.without_discrete() is continuous
    assert continuous.with_discrete_as_columns() is continuous


def test_where_all_latents_are_discrete_columns_are_all_there_is():
    alone = Codes.from_arrays(probabilities=[THREE])
    columns = alone.with_discrete_as_columns()
    assert np.allclose(columns.mean, THREE)
    assert columns.std.count_nonzero() == 0
    with pytest.raises(CodesError, match="All 1 latents"):
        alone.without_discrete()


def test_draws_and_covariances_know_the_columns():
    drawn = Codes.from_arrays(samples=RNG.standard_normal((4, 6, 2)), probabilities=[THREE]).with_discrete_as_columns()
    assert drawn.samples.shape == (4, 6, 5)
    assert torch.equal(drawn.samples[3, :, 2:], drawn.mean[:, 2:])
    assert drawn.std is None
    correlated = Codes.from_arrays(
        MEAN, options=CodesOptions(covariance=np.tile(np.eye(2), (6, 1, 1))), probabilities=[THREE]
    )
    covariance = correlated.with_discrete_as_columns().covariance
    assert covariance.shape == (6, 5, 5)
    assert int(covariance.count_nonzero()) == 12
    means_alone = Codes.from_arrays(MEAN, probabilities=[THREE]).with_discrete_as_columns()
    assert means_alone.std is None
