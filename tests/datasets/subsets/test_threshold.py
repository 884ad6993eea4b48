"""Splits at a value."""

import pytest
import torch

from tests.datasets.grid_columns import GRID, GRID_FACTORS
from unbraid.datasets.dataset import Factor
from unbraid.datasets.subsets import Threshold
from unbraid.errors import DataError, SpecError

DEPTH = (Factor("depth", 0),)
DEPTHS = torch.tensor([[0.3], [-1.5], [2.0], [0.9], [7.5], [0.31], [-0.2], [4.0], [0.0], [1.0]])


@pytest.mark.parametrize(("side", "expected"), [("below", {0, 1}), ("above", {2, 3})])
def test_a_value_parts_the_values_of_an_ordered_factor(side, expected):
    rows = Threshold("scale", side, value=1.5).rows(GRID_FACTORS, GRID)
    assert set(GRID[rows, 1].tolist()) == expected


def test_what_lies_at_the_threshold_is_above():
    assert set(GRID[Threshold("scale", "above", value=2.0).rows(GRID_FACTORS, GRID), 1].tolist()) == {2, 3}


@pytest.mark.parametrize(("quantile", "count"), [(0.2, 2), (0.29, 2), (0.3, 3), (0.95, 9)])
def test_a_quantile_parts_the_images_of_a_continuous_factor(quantile, count):
    rows = Threshold("depth", quantile=quantile).rows(DEPTH, DEPTHS)
    assert rows.tolist() == DEPTHS[:, 0].argsort()[:count].sort().values.tolist()
    above = Threshold("depth", "above", quantile=quantile).rows(DEPTH, DEPTHS)
    assert sorted([*rows.tolist(), *above.tolist()]) == list(range(10))


@pytest.mark.parametrize("arguments", [{"value": 1.0}, {"quantile": 0.5}])
def test_what_is_not_known_lies_on_neither_side(arguments):
    values = torch.tensor([[float("nan")], [2.0], [0.0], [float("nan")]])
    assert Threshold("depth", "below", **arguments).rows(DEPTH, values).tolist() == [2]
    assert Threshold("depth", "above", **arguments).rows(DEPTH, values).tolist() == [1]


def test_a_value_index_that_is_not_known_lies_on_neither_side():
    sizes, values = (Factor("size", 3),), torch.tensor([[-1], [2], [0], [1]])
    assert Threshold("size", "below", value=1.0).rows(sizes, values).tolist() == [2]
    assert Threshold("size", "below", quantile=0.7).rows(sizes, values).tolist() == [2, 3]


def test_a_quantile_of_what_is_never_known_is_refused():
    with pytest.raises(DataError, match="depth is not known in any of the 3 images"):
        Threshold("depth", quantile=0.5).rows(DEPTH, torch.full((3, 1), float("nan")))


def test_ties_lie_on_one_side():
    values = torch.tensor([[0], [1], [1], [1], [2]])
    assert Threshold("a", quantile=0.6).rows((Factor("a", 3),), values).tolist() == [0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give either a value of the factor, or a quantile"),
        ({"value": 1.0, "quantile": 0.5}, "give either a value of the factor, or a quantile"),
        ({"value": float("nan")}, "expected a finite number"),
        ({"quantile": 1.0}, "expected a number between 0 and 1"),
    ],
)
def test_settings_that_say_nothing_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        Threshold("scale", **arguments)


def test_values_without_an_order_are_refused():
    with pytest.raises(
        SpecError,
        match=r"the values of shape have no order\. Choose them one by one, with ChosenValues\.",
    ):
        Threshold("shape", value=1.0).check(GRID_FACTORS, 60)
