"""Groups of latents that lie within each other."""

import pytest

from unbraid.objectives.terms.nested_groups import group_levels, overlapping_latents


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (((0, 1), (2,)), [((0, 1), (2,))]),
        (((0,), (1,)), [((0,), (1,))]),
        (((0, 1), (0, 1, 2)), [((0, 1, 2),), ((0, 1), (2,))]),
        (
            ((0, 1, 2, 3, 4), (2, 3, 4), (3, 4)),
            [((0, 1, 2, 3, 4),), ((2, 3, 4), (0,), (1,)), ((3, 4), (2,), (0,), (1,))],
        ),
        (((0, 1), (1,)), [((0, 1),)]),
        (((0, 1, 2), ()), [((0, 1, 2),)]),
        ((), [()]),
    ],
)
def test_a_tree_is_cut_level_by_level_down_to_single_latents(groups, expected):
    assert group_levels(groups) == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (((0, 1), (2,)), []),
        (((0, 1, 2), (0, 1), (1,)), []),
        (((0, 1), (1, 2)), [1]),
        (((0, 1), (1, 0)), [0, 1]),
        (((0, 0), (1,)), [0]),
    ],
)
def test_latents_of_groups_that_overlap_are_named(groups, expected):
    assert overlapping_latents(groups) == expected
