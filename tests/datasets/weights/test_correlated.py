"""A pair of factors near a line."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid.datasets.weights import Correlated
from unbraid.errors import SpecError

PAIR = ("a", "b")
SIZES = st.tuples(st.integers(2, 40), st.integers(2, 40))
STRENGTHS = st.floats(0.05, 5)


def slow_table(sizes, strength, opposed):
    """Cell by cell, as the formula reads."""
    n, m = sizes
    cells = [
        [
            math.exp(-((i / (n - 1) - (1 - j / (m - 1) if opposed else j / (m - 1))) ** 2) / (2 * strength**2))
            for j in range(m)
        ]
        for i in range(n)
    ]
    total = math.fsum(map(math.fsum, cells))
    return torch.tensor(cells, dtype=torch.float64) / total


@given(sizes=SIZES, strength=STRENGTHS, opposed=st.booleans())
def test_it_is_what_the_formula_says(sizes, strength, opposed):
    table = Correlated(PAIR, strength, opposed).table(sizes)
    torch.testing.assert_close(table, slow_table(sizes, strength, opposed), rtol=1e-12, atol=1e-16)


@given(sizes=SIZES, strength=STRENGTHS)
def test_swapping_the_factors_transposes_the_table(sizes, strength):
    swapped = Correlated(PAIR, strength).table(sizes[::-1])
    torch.testing.assert_close(Correlated(PAIR, strength).table(sizes), swapped.T, rtol=1e-14, atol=0)


@given(sizes=SIZES, strength=STRENGTHS)
def test_equal_ends_are_the_most_likely_and_opposite_ends_the_least(sizes, strength):
    table = Correlated(PAIR, strength).table(sizes)
    assert float(table[0, 0]) == float(table[-1, -1]) == float(table.max())
    assert float(table[0, -1]) == float(table.min())
    assert math.log(float(table[0, 0] / table[0, -1])) == pytest.approx(1 / (2 * strength**2), rel=1e-9)


def test_a_large_strength_is_nearly_uniform_and_a_tiny_one_is_the_diagonal():
    torch.testing.assert_close(
        Correlated(PAIR, 1e6).table((5, 5)), torch.full((5, 5), 1 / 25, dtype=torch.float64), rtol=0, atol=1e-12
    )
    torch.testing.assert_close(Correlated(PAIR, 1e-200).table((5, 5)), torch.eye(5, dtype=torch.float64) / 5)


@pytest.mark.parametrize(("strength", "expected"), [(0.2, 0.782), (0.4, 0.416), (0.7, 0.167)])
def test_how_strong_the_strengths_of_the_paper_are(strength, expected):
    """Pearson's correlation of 32 by 32 values, the positions of dSprites."""
    table = Correlated(PAIR, strength).table((32, 32))
    x = torch.linspace(-1, 1, 32, dtype=torch.float64)
    variance = table.sum(dim=1) @ x.square()
    assert float(x @ table @ x / variance) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("strength", [0.0, -0.2, float("nan"), float("inf")])
def test_a_strength_that_is_none_is_refused(strength):
    with pytest.raises(SpecError, match="0.2"):
        Correlated(PAIR, strength)


def test_a_factor_of_one_value_goes_with_nothing():
    with pytest.raises(SpecError, match="a has one value"):
        Correlated(PAIR, 0.2).table((1, 4))
