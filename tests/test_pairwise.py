"""The rows that stand for all combinations."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pairwise import pairs_of, pairwise_cover

SIZES = st.lists(st.integers(1, 5), min_size=2, max_size=5).map(
    lambda sizes: {f"axis{i}": size for i, size in enumerate(sizes)}
)


def met(rows):
    return {((one, row[one]), (other, row[other])) for row in rows for one, other in itertools.combinations(row, 2)}


def test_three_axes_of_two_values_take_four_rows():
    assert len(pairwise_cover({"a": 2, "b": 2, "c": 2})) == 4


@given(SIZES)
def test_every_two_values_meet(sizes):
    rows = pairwise_cover(sizes)
    assert met(rows) == set(pairs_of(sizes))
    assert all(row.keys() == sizes.keys() for row in rows)


@given(SIZES)
def test_there_are_at_least_as_many_rows_as_the_two_longest_axes_ask_for_and_not_many_more(sizes):
    least = len(pairwise_cover(sizes))
    *_, second, first = sorted(sizes.values())
    assert first * second <= least <= 2 * first * second


@given(SIZES)
def test_the_rows_are_the_same_every_time(sizes):
    assert pairwise_cover(sizes) == pairwise_cover(sizes)


@given(st.integers(2, 4))
def test_what_may_not_meet_does_not_and_all_else_does(size):
    def allowed(pair):
        (one, i), (other, j) = pair
        return (one, other) != ("a", "b") or i != j

    sizes = {"a": size, "b": size, "c": 3}
    assert met(pairwise_cover(sizes, allowed)) == {pair for pair in pairs_of(sizes) if allowed(pair)}


def test_a_value_that_nothing_may_stand_beside_is_an_error():
    with pytest.raises(ValueError, match="c may stand"):
        pairwise_cover({"a": 2, "b": 2, "c": 1}, lambda pair: pair != (("a", 0), ("c", 0)))
