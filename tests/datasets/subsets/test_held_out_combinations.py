"""Combinations that are left out."""

import pytest

from tests.datasets.grid_columns import GRID, GRID_FACTORS
from unbraid.datasets.dataset import Factor
from unbraid.datasets.subsets import HeldOutCombinations
from unbraid.errors import SpecError


def held_out(subset):
    """The rows of both parts, as sets of combinations."""
    return [
        {tuple(row) for row in GRID[HeldOutCombinations(*subset, part=part).rows(GRID_FACTORS, GRID)].tolist()}
        for part in ("train", "test")
    ]


def test_combinations_are_left_out_with_every_value_of_other_factors():
    train, test = held_out((("place", "shape"), ((0, 2), (4, 1))))
    assert test == {(2, scale, 0) for scale in range(4)} | {(1, scale, 4) for scale in range(4)}
    assert train.isdisjoint(test)
    assert len(train) + len(test) == 60


def test_a_box_is_all_that_lies_between_its_corners():
    _, test = held_out((("shape", "place"), (), ((2, 2, 1, 3), (0, 1, 4, 4))))
    assert test == {(2, s, p) for s in range(4) for p in (1, 2, 3)} | {
        (shape, s, 4) for shape in (0, 1) for s in range(4)
    }


def test_every_value_of_each_factor_is_still_seen():
    """That is what makes it a test of combinations."""
    train, _ = held_out((("shape", "scale"), ((0, 0), (1, 1), (2, 2))))
    assert [len({row[place] for row in train}) for place in range(3)] == [3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "combinations and boxes are empty"),
        ({"combinations": ((1,),)}, r"\(1,\).*2"),
        (
            {"boxes": ((1, 2),)},
            r"\(1,.*2\);.*4",
        ),
    ],
)
def test_what_is_no_combination_is_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        HeldOutCombinations(("shape", "scale"), **arguments)


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        (HeldOutCombinations(("shape", "scale"), ((0, 4),)), "scale.*4.*0.*3"),
        (HeldOutCombinations(("shape",), boxes=((1, 3),)), "shape.*1.*3"),
        (HeldOutCombinations(("shape",), boxes=((2, 1),)), "In a box"),
        (HeldOutCombinations(("depth",), ((0,),)), "depth is continuous"),
    ],
)
def test_values_that_do_not_exist_are_refused_before_the_images_are_loaded(subset, message):
    with pytest.raises(SpecError, match=message):
        subset.check((*GRID_FACTORS, Factor("depth", 0)), 60)
