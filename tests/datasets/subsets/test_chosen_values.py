"""Splits by the value of a factor."""

import pytest
import torch

from tests.datasets.grid_columns import GRID, GRID_FACTORS, grid
from unbraid.datasets.dataset import Factor
from unbraid.datasets.subsets import ChosenValues
from unbraid.errors import DataError, SpecError


def test_the_images_with_these_values_and_the_others():
    train, test = (ChosenValues("place", (4, 1), part=part).rows(GRID_FACTORS, GRID) for part in ("train", "test"))
    assert set(GRID[train, 2].tolist()) == {1, 4}
    assert set(GRID[test, 2].tolist()) == {0, 2, 3}


def test_the_first_part_of_the_values_as_kumar_et_al_split_the_chairs_by_model():
    models = grid(809, 2)
    factors = (Factor("model", 809, ordered=False), Factor("elevation", 2))
    train, test = (ChosenValues("model", fraction=0.8, part=part).rows(factors, models) for part in ("train", "test"))
    assert set(models[train, 0].tolist()) == set(range(647))
    assert set(models[test, 0].tolist()) == set(range(647, 809))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give either values, such as 0,1,2, or a fraction"),
        ({"values": (1,), "fraction": 0.5}, "give either values, such as 0,1,2, or a fraction"),
        ({"fraction": 1.0}, "expected a number between 0 and 1"),
        ({"values": (1, 1)}, "one of them twice"),
    ],
)
def test_settings_that_say_nothing_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        ChosenValues("place", **arguments)


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        (ChosenValues("place", (5,)), "place has no value 5; its values are 0 to 4"),
        (ChosenValues("place", (-1,)), "place has no value -1"),
        (ChosenValues("plaice", (0,)), r"no factor 'plaice' in this data set\. Did you mean 'place'"),
        (ChosenValues("depth", (0,)), "depth is continuous"),
    ],
)
def test_values_and_factors_that_do_not_exist_are_refused_before_the_images_are_loaded(subset, message):
    with pytest.raises(SpecError, match=message):
        subset.check((*GRID_FACTORS, Factor("depth", 0)), 60)


def test_a_factor_that_is_not_known_everywhere_is_refused():
    with pytest.raises(DataError, match="shape is not known in 2 images. Label them"):
        ChosenValues("shape", (0,)).rows((Factor("shape", 2),), torch.tensor([[0], [-1], [1], [-1]]))
