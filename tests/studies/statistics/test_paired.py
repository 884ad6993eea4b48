"""Comparisons of settings that share their seeds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.studies.statistics import compare_pairs
from unbraid.studies.statistics.samples import StatisticsError

VALUES = st.lists(st.integers(0, 9).map(float), min_size=1, max_size=8)


def test_eight_of_eight_pairs_have_the_p_value_of_eight_heads():
    found = compare_pairs(np.arange(8) + 0.5, np.arange(8))
    assert found.wilcoxon == found.sign == pytest.approx(2.0**-8)
    assert (found.num_higher, found.num_lower) == (8, 0)
    assert found.difference.value == 0.5


def test_ranks_count_in_one_test_and_not_in_the_other():
    found = compare_pairs([1.0, 2.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.5])
    assert found.sign == pytest.approx(5 / 16)  # three or four heads of four
    assert found.wilcoxon == pytest.approx(2 / 16)  # only 10 and 9 of the sums of ranks are as high


@given(VALUES)
def test_a_setting_does_not_lie_above_itself(values):
    found = compare_pairs(values, values)
    assert (found.wilcoxon, found.sign, found.difference.value) == (1.0, 1.0, 0.0)


def test_both_tests_reject_equal_settings_as_often_as_they_may():
    generator = np.random.default_rng(0)
    found = [compare_pairs(*generator.normal(size=(2, 10)), num_resamples=10) for _ in range(600)]
    for p_values in ([each.wilcoxon for each in found], [each.sign for each in found]):
        assert 0.005 <= np.mean(np.array(p_values) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 600)


def test_pairs_are_more_than_groups_where_seeds_matter():
    seeds = np.arange(8.0)
    assert compare_pairs(seeds + 0.1, seeds).wilcoxon < 0.01


def test_settings_with_other_seeds_are_refused():
    with pytest.raises(StatisticsError, match="2 and 1 values.*Use `compare`"):
        compare_pairs([1.0, 2.0], [1.0])
