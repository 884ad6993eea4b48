"""Some of the images of codes, and some of their factors."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from unbraid.codes import Codes, CodesOptions, LatentPrior
from unbraid.errors import CodesError

RNG = np.random.default_rng(0)
CODES = Codes.from_arrays(
    RNG.standard_normal((5, 2)),
    np.ones((5, 2)),
    probabilities=[RNG.dirichlet(np.ones(3), 5)],
    factors={"shape": [0, 1, 0, 1, 2], "size": [0.1, np.nan, 0.3, 0.4, 0.5]},
    options=CodesOptions(missing=np.nan),
    weights=[1.0, 2.0, 3.0, 4.0, 5.0],
)
DRAWN = Codes.from_arrays(samples=RNG.standard_normal((7, 5, 2)))
CORRELATED = Codes.from_arrays(
    RNG.standard_normal((5, 2)), options=CodesOptions(covariance=np.tile(np.eye(2), (5, 1, 1)))
)


@pytest.mark.parametrize("rows", [[1, 3], np.array([1, 3]), torch.tensor([1, 3]), slice(1, 4, 2), [-4, -2]])
def test_every_table_has_these_rows(rows):
    some = CODES[rows]
    assert torch.equal(some.mean, CODES.mean[[1, 3]])
    assert torch.equal(some.std, CODES.std[[1, 3]])
    assert torch.equal(some.probabilities[0], CODES.probabilities[0][[1, 3]])
    assert some.weights.tolist() == [2.0, 4.0]
    assert some.factors[0].values.tolist() == [1, 1]
    assert some.factors[1].is_known.tolist() == [False, True]
    assert torch.equal(DRAWN[rows].samples, DRAWN.samples[:, [1, 3]])
    assert len(CORRELATED[rows].covariance) == 2


def test_a_mask_names_rows_too():
    assert CODES[[False, True, False, True, False]] == CODES[[1, 3]]


@pytest.mark.parametrize("rows", [[0.5], [[1]], [], [True, False], True, "many"])
def test_rows_that_are_not_there_are_refused(rows):
    with pytest.raises(CodesError):
        CODES[rows]


def test_length_index_and_iteration_are_those_of_a_sequence():
    assert len(CODES) == 5
    assert CODES[1] == CODES[[1]] == CODES[-4] == CODES[np.int64(1)] == CODES[torch.tensor(1)]
    assert [codes.weights.tolist() for codes in CODES] == [[1.0], [2.0], [3.0], [4.0], [5.0]]
    assert CODES[::-1] == CODES[[4, 3, 2, 1, 0]]
    assert [len(codes) for codes in reversed(CODES)] == [1] * 5
    assert CODES[2] in CODES
    assert Codes.concat(list(CODES[:2])).mean.tolist() == CODES[:2].mean.tolist()
    for row in (5, -6):
        with pytest.raises(IndexError, match=f"Image {row} "):
            CODES[row]
        with pytest.raises(IndexError):
            CODES[[0, row]]


def test_concatenation_keeps_the_order_of_the_parts():
    parts = [CODES[:2], CODES[2:3], CODES[3:]]
    together = Codes.concat(parts)
    assert together.mean.tolist() == CODES.mean.tolist()
    assert [labels.is_known.tolist() for labels in together.factors] == [f.is_known.tolist() for f in CODES.factors]
    # 3 : 6 in the first part, alone in the second, 4 : 5 in the third, each with a sum of as many images.
    expected = torch.tensor([2 / 3, 4 / 3, 1.0, 8 / 9, 10 / 9], dtype=torch.float64)
    torch.testing.assert_close(together.weights, expected)
    assert Codes.concat([DRAWN[:3], DRAWN[3:]]) == DRAWN


@pytest.mark.parametrize("parts", [[], [CODES, DRAWN], [CODES, CODES.mean], [CODES, CODES.with_factors("size")]])
def test_what_does_not_go_together_is_not_concatenated(parts):
    with pytest.raises(CodesError):
        Codes.concat(parts)


@pytest.mark.parametrize("changed", [{"groups": ((0, 1),)}, {"prior": LatentPrior.standard(2)}], ids=str)
def test_codes_with_other_groups_or_another_prior_are_not_concatenated(changed):
    part = Codes(torch.zeros(3, 2), torch.ones(3, 2))
    other = replace(part, **changed)
    for parts in ([part, other], [other, part]):
        with pytest.raises(CodesError, match=next(iter(changed))):
            Codes.concat(parts)
    together = Codes.concat([other, other])
    assert (together.groups, together.prior) == (other.groups, other.prior)


def test_factors_are_chosen_by_name():
    assert CODES.with_factors(["size"]).factor_names == CODES.with_factors("size").factor_names == ("size",)
    assert CODES.with_factors(["size", "shape"]) == CODES
    with pytest.raises(CodesError, match="factor 'shap'."):
        CODES.with_factors(["shap"])


def test_some_latents_in_any_order_with_what_belongs_to_them():
    codes = Codes.from_arrays(
        RNG.standard_normal((5, 3)),
        options=CodesOptions(
            covariance=np.tile([[1.0, 0.1, 0.2], [0.1, 2.0, 0.3], [0.2, 0.3, 3.0]], (5, 1, 1)),
            groups=[(0, 3), (1, 2, 4)],
            prior={
                "mean": [0.0, 1.0, 2.0],
                "std": [1.0, 2.0, 3.0],
                "probabilities_0": [0.5, 0.5],
                "probabilities_1": [1 / 3] * 3,
            },
        ),
        probabilities=[RNG.dirichlet(np.ones(2), 5), RNG.dirichlet(np.ones(3), 5)],
    )
    some = codes.with_latents([4, 2, 0])
    assert torch.equal(some.mean, codes.mean[:, [2, 0]])
    assert some.covariance[1].tolist() == [[3.0, 0.2], [0.2, 1.0]]
    assert torch.equal(some.probabilities[0], codes.probabilities[1])
    assert some.groups == ((1,), (0, 2))
    assert (some.prior.mean.tolist(), some.prior.covariance.diagonal().tolist()) == ([2.0, 0.0], [9.0, 1.0])
    assert [len(p) for p in some.prior.probabilities] == [3]
    assert torch.equal(DRAWN.with_latents([1]).samples, DRAWN.samples[:, :, [1]])


@pytest.mark.parametrize("latents", [[3], [-1], [], [0, 0]])
def test_latents_that_there_are_not_are_refused(latents):
    with pytest.raises(CodesError, match=r"0 to 2|latents is"):
        CODES.with_latents(latents)
