"""Correlations and slopes against enumeration, scipy and their laws."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbraid.studies.statistics import StatisticsError, slope, spearman

VALUES = st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(lambda values: len(set(values)) > 1)


@given(VALUES, VALUES)
def test_a_rank_correlation_has_the_p_values_of_all_pairings(x, y):
    ranks = stats.rankdata(x), stats.rankdata(y)
    sums = np.array([np.dot(ranks[0], order) for order in itertools.permutations(ranks[1])])
    seen = np.dot(*ranks)
    found = spearman(x, y)
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert found.test(0.0) == pytest.approx((np.mean(sums >= seen - 1e-9), np.mean(sums <= seen + 1e-9)))


@given(VALUES, VALUES)
def test_the_scores_may_change_places_and_scales(x, y):
    found = spearman(x, y)
    assert spearman(y, x).test(0.0) == pytest.approx(found.test(0.0))
    assert spearman([math.exp(value) for value in x], y).test(0.3) == pytest.approx(found.test(0.3))
    assert spearman([-value for value in x], y).test(0.0) == pytest.approx(found.test(0.0)[::-1])


def test_a_border_is_compared_with_pairs_of_that_correlation():
    generator = np.random.default_rng(0)
    x = generator.normal(size=40)
    found = spearman(x, 0.8 * x + 0.6 * generator.normal(size=40))
    p_values = [found.p_above(border) for border in (-1.0, 0.0, 0.3, 0.6, 0.9, 1.0)]
    assert p_values == sorted(p_values)
    error = math.sqrt((1 + 0.3**2 / 2) / 37)
    assert found.p_above(0.6) == pytest.approx(
        stats.norm.sf((math.atanh(found.value) - math.atanh(0.6)) / error), abs=0.03
    )
    low, high = found.interval
    assert -1 < low < found.value < high < 1


def test_a_score_that_does_not_vary_has_no_correlation():
    with pytest.raises(StatisticsError):
        spearman([1, 1, 1, 1], [1, 2, 3, 4])
    with pytest.raises(StatisticsError, match="3"):
        spearman([1, 2, 3], [1, 2, 3, 4])


def test_a_slope_has_the_p_values_of_all_deals():
    groups = [[0.1, 0.4], [0.3, 0.5], [0.45, 0.6]]
    y, labels = np.concatenate(groups), [0, 0, 1, 1, 2, 2]
    deals = set(itertools.permutations(labels))
    ranks = stats.rankdata(y)
    sums = np.array([np.dot(ranks, deal) for deal in deals])
    found = slope(groups)
    assert found.p_above(0) == pytest.approx(np.mean(sums >= np.dot(ranks, labels) - 1e-9))
    assert found.p_below(0) == pytest.approx(np.mean(sums <= np.dot(ranks, labels) + 1e-9))


def test_a_slope_is_that_of_theil_and_sen():
    generator = np.random.default_rng(1)
    at = [1.0, 2.0, 4.0]
    groups = [3 * x + generator.normal(size=5) for x in at]
    found = slope(groups, at)
    # scipy weighs pairs at the same place as well, of which there are none between groups
    expected = stats.theilslopes(np.concatenate(groups), np.repeat(at, 5)).slope
    assert found.value == pytest.approx(expected)
    assert found.interval[0] < 3 < found.interval[1]
    assert found.p_above(0) <= 0.001
    assert min(found.p_above(3), found.p_below(3)) > 0.025


@given(st.floats(-2, 2))
def test_a_rise_that_is_added_moves_the_border(rise):
    groups = np.random.default_rng(2).normal(size=(3, 4))
    steeper = groups + rise * np.arange(3)[:, None]
    assert slope(steeper).test(rise + 0.1) == pytest.approx(slope(groups).test(0.1))


def test_falling_values_mirror_rising_ones():
    groups = np.random.default_rng(3).normal(size=(3, 4))
    assert slope(-groups).test(0.2) == pytest.approx(slope(groups).test(-0.2)[::-1])


@pytest.mark.parametrize(("groups", "at"), [([[1.0]], ()), ([[1.0], [2.0]], (1.0, 1.0)), ([[1.0], [2.0]], (1.0,))])
def test_positions_must_rise(groups, at):
    with pytest.raises(StatisticsError):
        slope(groups, at)
