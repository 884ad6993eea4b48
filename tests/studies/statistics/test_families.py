"""Adjusted p-values, and seeds that a test needs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.studies.statistics import StatisticsError, holm, seeds_needed

P_VALUES = st.lists(st.floats(0, 1), max_size=8)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES)
def test_holm_lies_between_each_p_value_and_bonferroni(p_values):
    for raw, adjusted in zip(p_values, holm(p_values), strict=True):
        assert raw <= adjusted <= min(1.0, raw * len(p_values)) + 1e-12


@given(P_VALUES)
def test_holm_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(
        adjusted[i] <= adjusted[j]
        for i, j in itertools.permutations(range(len(adjusted)), 2)
        if p_values[i] < p_values[j]
    )


def test_holm_errs_at_all_in_one_family_of_twenty():
    families = np.random.default_rng(0).random((4000, 6))
    wrong = np.mean([min(holm(list(family))) <= 0.05 for family in families])
    assert wrong == pytest.approx(1 - (1 - 0.05 / 6) ** 6, abs=4 * np.sqrt(0.05 * 0.95 / 4000))


@pytest.mark.parametrize("p_value", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_is_refused(p_value):
    with pytest.raises(StatisticsError, match="p-values"):
        holm([0.5, p_value])


def test_seeds_needed_by_noethers_formula():
    ours, theirs = [1, 2, 3, 4], [0, 1.5, 2.5, 0.5]
    share = 13 / 16
    expected = np.ceil((1.644854 + 0.841621) ** 2 / (6 * (share - 0.5) ** 2))
    assert seeds_needed(ours, theirs) == expected
    assert seeds_needed(theirs, ours) is None
    assert seeds_needed([5, 6], [1, 2]) >= 4  # 1 / C(6, 3) is 0.05 as well, and 1 / C(4, 2) is not


@pytest.mark.parametrize("options", [{"level": 0.0}, {"power": 1.0}])
def test_a_level_lies_between_0_and_1(options):
    with pytest.raises(StatisticsError):
        seeds_needed([1, 2], [0, 1], **options)
