"""Some of the images of codes, and some of their factors."""

import numpy as np
import pytest
import torch

from unbraid.codes import Codes
from unbraid.errors import CodesError

RNG = np.random.default_rng(0)
CODES = Codes.from_arrays(
    RNG.standard_normal((5, 2)),
    np.ones((5, 2)),
    probabilities=[RNG.dirichlet(np.ones(3), 5)],
    factors={"shape": [0, 1, 0, 1, 2], "size": [0.1, np.nan, 0.3, 0.4, 0.5]},
    missing=np.nan,
    weights=[1.0, 2.0, 3.0, 4.0, 5.0],
)
DRAWN = Codes.from_arrays(samples=RNG.standard_normal((7, 5, 2)))
CORRELATED = Codes.from_arrays(RNG.standard_normal((5, 2)), covariance=np.tile(np.eye(2), (5, 1, 1)))


@pytest.mark.parametrize("rows", [[1, 3], np.array([1, 3]), torch.tensor([1, 3]), slice(1, 4, 2), [-4, -2]])
def test_every_table_has_these_rows(rows):
    some = CODES.rows(rows)
    assert torch.equal(some.mean, CODES.mean[[1, 3]])
    assert torch.equal(some.std, CODES.std[[1, 3]])
    assert torch.equal(some.probabilities[0], CODES.probabilities[0][[1, 3]])
    assert some.weights.tolist() == [2.0, 4.0]
    assert some.factors[0].values.tolist() == [1, 1]
    assert some.factors[1].is_known.tolist() == [False, True]
    assert torch.equal(DRAWN.rows(rows).samples, DRAWN.samples[:, [1, 3]])
    assert len(CORRELATED.rows(rows).covariance) == 2


def test_a_mask_names_rows_too():
    assert CODES.rows([False, True, False, True, False]) == CODES.rows([1, 3])


@pytest.mark.parametrize("rows", [[5], [-6], [0.5], [[1]], [], [True, False], "many"])
def test_rows_that_are_not_there_are_refused(rows):
    with pytest.raises(CodesError):
        CODES.rows(rows)


def test_factors_are_chosen_by_name():
    assert CODES.with_factors(["size"]).factor_names == CODES.with_factors("size").factor_names == ("size",)
    assert CODES.with_factors(["size", "shape"]) == CODES
    with pytest.raises(CodesError, match="no factor 'shap'. Did you mean 'shape'"):
        CODES.with_factors(["shap"])
