"""Rank tests: exact with ties, against enumeration of every deal, and against scipy where there are none."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbraid.studies.statistics import exact_ranks
from unbraid.studies.statistics.exact_ranks import (
    rank_sum_quantile,
    upper_tail_of_rank_sum,
    upper_tail_of_signed_ranks,
)

FEW_VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5]), min_size=1, max_size=5)


def enumerated_rank_sum_tail(ours, theirs):
    """The share of all choices of seeds whose ranks sum to at least what ours do."""
    ranks = stats.rankdata([*ours, *theirs])
    sums = [sum(choice) for choice in itertools.combinations(ranks, len(ours))]
    return np.mean(np.array(sums) >= sum(ranks[: len(ours)]) - 1e-9)


def enumerated_signed_rank_tail(differences):
    ranks = stats.rankdata(np.abs(differences))
    seen = ranks[np.array(differences) > 0].sum()
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    return np.mean(np.array(sums) >= seen - 1e-9)


@given(FEW_VALUES, FEW_VALUES)
def test_the_rank_sum_test_is_exact_with_ties(ours, theirs):
    p_value, is_exact = upper_tail_of_rank_sum(np.array(ours), np.array(theirs))
    assert is_exact
    assert p_value == pytest.approx(enumerated_rank_sum_tail(ours, theirs))


@given(st.lists(st.sampled_from([-0.5, -0.2, 0.2, 0.5, 0.7]), min_size=1, max_size=8))
def test_the_signed_rank_test_is_exact_with_ties(differences):
    p_value, is_exact = upper_tail_of_signed_ranks(np.array(differences))
    assert is_exact
    assert p_value == pytest.approx(enumerated_signed_rank_tail(differences))


@pytest.mark.parametrize(("num_ours", "num_theirs"), [(4, 4), (8, 8), (20, 20), (3, 17)])
def test_without_ties_both_tests_are_scipys(num_ours, num_theirs):
    generator = np.random.default_rng(num_ours)
    ours, theirs = generator.normal(0.5, 1, num_ours), generator.normal(size=num_theirs)
    assert upper_tail_of_rank_sum(ours, theirs)[0] == pytest.approx(
        stats.mannwhitneyu(ours, theirs, alternative="greater", method="exact").pvalue
    )
    assert upper_tail_of_signed_ranks(ours)[0] == pytest.approx(
        stats.wilcoxon(ours, alternative="greater", method="exact").pvalue
    )


def test_where_counting_would_take_long_the_normal_distribution_stands_in(monkeypatch):
    generator = np.random.default_rng(0)
    ours, theirs = generator.normal(0.3, 1, 25).round(1), generator.normal(size=25).round(1)
    exact = upper_tail_of_rank_sum(ours, theirs)[0], upper_tail_of_signed_ranks(ours)[0]
    monkeypatch.setattr(exact_ranks, "_MAX_COUNTED", 0)
    for (p_value, is_exact), counted in zip(
        (upper_tail_of_rank_sum(ours, theirs), upper_tail_of_signed_ranks(ours)), exact, strict=True
    ):
        assert not is_exact
        assert p_value == pytest.approx(counted, abs=0.005)  # the error of the approximation at these sizes


def test_groups_of_equal_values_are_never_told_apart(monkeypatch):
    assert upper_tail_of_rank_sum(np.ones(5), np.ones(5)) == (1.0, True)
    assert upper_tail_of_signed_ranks(np.zeros(5)) == (1.0, True)
    monkeypatch.setattr(exact_ranks, "_MAX_COUNTED", 0)
    assert upper_tail_of_rank_sum(np.ones(5), np.ones(5)) == (1.0, False)


@pytest.mark.parametrize("sizes", [(3, 3), (5, 8), (8, 8), (1, 2)])
def test_the_quantile_of_the_rank_sum_is_the_last_one_within_the_tail(sizes):
    num_ours, num_theirs = sizes
    ranks = range(1, num_ours + num_theirs + 1)
    statistics = np.array(
        [sum(choice) - num_ours * (num_ours + 1) // 2 for choice in itertools.combinations(ranks, num_ours)]
    )
    k = rank_sum_quantile(num_ours, num_theirs, 0.025)
    assert np.mean(statistics <= k - 1) <= 0.025 < np.mean(statistics <= k)


def test_the_quantile_of_many_seeds_is_close_to_the_counted_one(monkeypatch):
    counted = rank_sum_quantile(20, 20, 0.025)
    monkeypatch.setattr(exact_ranks, "_MAX_COUNTED", 0)
    assert abs(rank_sum_quantile(20, 20, 0.025) - counted) <= 1
