"""Comparisons of two settings: closed forms, laws, and how often they err."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbraid.studies.statistics import compare, equivalence, seeds_needed
from unbraid.studies.statistics.samples import StatisticsError

GROUPS = st.lists(st.floats(0, 1).map(lambda x: round(x, 2)), min_size=3, max_size=8)


def test_groups_that_are_fully_apart_have_the_smallest_p_value_there_is():
    found = compare([5.0, 6.0, 7.0, 8.0], [1.0, 2.0, 3.0, 4.0])
    assert found.p_value == pytest.approx(1 / 70)
    assert found.probability.value == 1.0
    assert found.probability.interval[0] < 1.0 == found.probability.interval[1]
    assert found.shift.value == 4.0


def test_the_test_rejects_equal_groups_as_often_as_it_may():
    generator = np.random.default_rng(0)
    rejected = [compare(*generator.normal(size=(2, 6))).p_value <= 0.05 for _ in range(600)]
    assert 0.02 <= np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)  # the exact level for 6 and 6 is 0.0465


@given(GROUPS, GROUPS)
def test_the_other_way_round_everything_is_mirrored(ours, theirs):
    one, other = compare(ours, theirs), compare(theirs, ours)
    assert one.shift.value == pytest.approx(-other.shift.value)
    assert one.shift.interval == pytest.approx((-other.shift.interval[1], -other.shift.interval[0]))
    assert one.probability.value == pytest.approx(1 - other.probability.value)
    assert one.probability.interval == pytest.approx(
        (1 - other.probability.interval[1], 1 - other.probability.interval[0]), abs=1e-9
    )
    assert one.p_value + other.p_value >= 1 - 1e-12  # both count what is as extreme as what was seen


@given(GROUPS, GROUPS, st.floats(-2, 2))
def test_the_shift_follows_a_shift(ours, theirs, by):
    moved = compare([x + by for x in ours], theirs).shift
    assert moved.value == pytest.approx(compare(ours, theirs).shift.value + by, abs=1e-9)


def test_the_limits_of_the_shift_are_where_the_test_changes_its_mind():
    generator = np.random.default_rng(1)
    ours, theirs = generator.normal(1, 1, 8), generator.normal(size=9)
    low, high = compare(ours, theirs).shift.interval
    for shift, is_kept in ((low + 1e-9, True), (low - 1e-9, False), (high - 1e-9, True), (high + 1e-9, False)):
        p_value = stats.mannwhitneyu(ours - shift, theirs, method="exact").pvalue
        assert (p_value > 0.05) == is_kept


def test_with_two_seeds_each_no_shift_is_excluded():
    assert compare([3.0, 4.0], [1.0, 2.0]).shift.interval == (-np.inf, np.inf)


@pytest.mark.parametrize("distance", [0.0, 1.0, 2.0])
def test_intervals_hold_the_truth_as_often_as_they_say(distance):
    generator = np.random.default_rng(2)
    probability = stats.norm.cdf(distance / np.sqrt(2))
    shift_held, probability_held = [], []
    for _ in range(300):
        found = compare(generator.normal(distance, 1, 8), generator.normal(size=8))
        shift_held.append(found.shift.interval[0] <= distance <= found.shift.interval[1])
        probability_held.append(found.probability.interval[0] <= probability <= found.probability.interval[1])
    assert np.mean(shift_held) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(probability_held) >= 0.92  # Newcombe: near its level on the average, a little below for some P


def test_equal_groups_of_many_seeds_are_equivalent_and_distant_ones_are_not():
    generator = np.random.default_rng(3)
    ours = generator.normal(0, 0.02, 60)
    assert equivalence(ours, generator.normal(0, 0.02, 60), 0.03).verdict == "equivalent"
    assert equivalence(ours + 0.1, generator.normal(0, 0.02, 60), 0.03).verdict == "different"
    assert equivalence(ours[:3], ours[3:6] + 0.03, 0.03).verdict == "undecided"


def test_groups_just_apart_by_the_margin_are_seldom_called_equivalent():
    generator = np.random.default_rng(4)
    wrong = [
        equivalence(*generator.normal([[1.0], [0.0]], 0.5, (2, 20)), 1.0, seed=i, num_resamples=300).verdict
        == "equivalent"
        for i in range(300)
    ]
    assert np.mean(wrong) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


@pytest.mark.parametrize("distance", [1.0, 1.8])
def test_the_seeds_that_are_said_to_be_needed_have_the_power(distance):
    """With P(a > b) known from very many seeds, as many as needed see it in about four of five studies."""
    generator = np.random.default_rng(5)
    needed = seeds_needed(generator.normal(distance, 1, 1500), generator.normal(size=1500))
    seen = [
        compare(generator.normal(distance, 1, needed), generator.normal(size=needed)).p_value <= 0.05
        for _ in range(400)
    ]
    assert 0.70 <= np.mean(seen) <= 0.90  # Noether's formula is approximate


def test_no_number_of_seeds_shows_what_is_not_so():
    assert seeds_needed([0.1, 0.2], [0.3, 0.4]) is None
    assert seeds_needed([0.3, 0.4], [0.1, 0.2]) == 5  # fully apart; three seeds could show it, at less power


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: equivalence([1.0], [1.0], 0.0), "margin is 0"),
        (lambda: compare([], [1.0]), "first group"),
        (lambda: compare([1.0], [np.inf]), "1 of 1 values of the second group"),
        (lambda: seeds_needed([1.0], [0.0], power=1.0), "level is 1"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(call, message):
    with pytest.raises(StatisticsError, match=message):
        call()
