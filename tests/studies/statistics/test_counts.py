"""Tests of counts against their closed forms."""

import math

import pytest
from scipy import stats

from unbraid.studies.statistics import StatisticsError, binomial, sign_test


def test_the_sign_test_counts_seeds_on_either_side():
    found = sign_test([0.1, 0.2, 0.3, 0.3, 0.4, 0.5, 0.6, 0.7])
    assert found.p_above(0.15) == pytest.approx(9 / 256)
    assert found.p_above(0.3) == pytest.approx(sum(math.comb(8, k) for k in range(4, 9)) / 256)  # 4 lie above
    assert found.p_below(0.3) == pytest.approx(sum(math.comb(8, k) for k in range(2, 9)) / 256)  # 2 lie below
    assert found.value == pytest.approx(0.35)


def test_the_interval_of_a_median_ends_at_order_statistics():
    assert sign_test(range(8)).interval == (0.0, 7.0)  # 2 / 256 of the samples lie outside; 18 / 256 within 1 and 6
    assert sign_test(range(5)).interval == (-math.inf, math.inf)
    assert sign_test(range(20)).interval == (5.0, 14.0)


def test_a_share_has_the_exact_binomial_test_and_interval():
    found = binomial(7, 8)
    assert found.p_above(0.5) == pytest.approx(9 / 256)
    assert found.p_below(0.9) == pytest.approx(1 - 0.9**8)
    expected = stats.binomtest(7, 8).proportion_ci(0.95, method="exact")
    assert found.interval == (expected.low, expected.high)
    assert binomial(8, 8).interval[1] == 1.0


@pytest.mark.parametrize(("inside", "seeds"), [(3, 2), (-1, 2), (0, 0)])
def test_more_seeds_inside_than_there_are_are_refused(inside, seeds):
    with pytest.raises(StatisticsError, match=str(inside)):
        binomial(inside, seeds)
