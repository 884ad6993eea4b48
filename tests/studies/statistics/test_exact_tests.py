"""Exact tests of ranks, with ties, against enumeration of every arrangement, and against scipy where there are none."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbraid.studies.statistics import (
    StatisticsError,
    binomial,
    holm,
    mann_whitney,
    seeds_needed,
    sign_test,
    signed_rank,
)
from unbraid.studies.statistics.arrangements import NUM_DRAWN, groupings, pairings, signs

FEW_VALUES = st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.5]), min_size=1, max_size=5)
DISTINCT = st.lists(st.integers(-50, 50), min_size=8, max_size=8, unique=True)


def enumerated_mann_whitney(ours, theirs):
    """The share of all choices of seeds whose ranks sum to at least, and to at most, what ours do."""
    ranks = stats.rankdata([*ours, *theirs])
    sums = np.array([sum(choice) for choice in itertools.combinations(ranks, len(ours))])
    seen = sum(ranks[: len(ours)])
    return np.mean(sums >= seen - 1e-9), np.mean(sums <= seen + 1e-9)


def enumerated_signed_rank(differences):
    differing = [each for each in differences if each]
    ranks = stats.rankdata(np.abs(differing)) if differing else np.array([])
    seen = sum(rank for rank, each in zip(ranks, differing, strict=True) if each > 0)
    sums = np.array(
        [
            sum(rank for rank, sign in zip(ranks, chosen, strict=True) if sign)
            for chosen in itertools.product((0, 1), repeat=len(ranks))
        ]
    )
    return np.mean(sums >= seen - 1e-9), np.mean(sums <= seen + 1e-9)


@given(FEW_VALUES, FEW_VALUES)
def test_the_rank_sum_test_is_exact_with_ties(ours, theirs):
    assert mann_whitney(ours, theirs).test(0.0) == pytest.approx(enumerated_mann_whitney(ours, theirs))


@given(FEW_VALUES, FEW_VALUES)
def test_a_border_moves_one_side_and_keeps_ties(ours, theirs):
    moved = [round(10 * value + 3) for value in theirs]
    expected = enumerated_mann_whitney([round(10 * value) for value in ours], moved)
    assert mann_whitney(ours, theirs).test(0.3) == pytest.approx(expected)


@given(st.lists(st.sampled_from([-0.5, -0.2, 0.0, 0.2, 0.5, 0.7]), min_size=1, max_size=8))
def test_the_signed_rank_test_is_exact_with_ties_and_zeros(differences):
    assert signed_rank(differences).test(0.0) == pytest.approx(enumerated_signed_rank(differences))


@given(DISTINCT)
def test_without_ties_both_tests_are_scipys(values):
    ours, theirs, rest = values[:4], values[4:], [value for value in values if value]
    exact = stats.mannwhitneyu(ours, theirs, alternative="greater", method="exact").pvalue
    assert mann_whitney(ours, theirs).p_above(0) == pytest.approx(exact)
    if len({abs(value) for value in rest}) == len(rest):
        exact = stats.wilcoxon(rest, alternative="less", method="exact").pvalue
        assert signed_rank(rest).p_below(0) == pytest.approx(exact)


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=8), st.lists(st.integers(-9, 9), min_size=4, max_size=8))
def test_any_increasing_function_of_the_scores_keeps_the_p_values(ours, theirs):
    changed = mann_whitney([math.exp(x) - 3 for x in ours], [math.exp(x) - 3 for x in theirs])
    assert changed.test(0.0) == pytest.approx(mann_whitney(ours, theirs).test(0.0))


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=6), st.lists(st.integers(-9, 9), min_size=4, max_size=6))
def test_the_sides_may_change_places(ours, theirs):
    forward, backward = mann_whitney(ours, theirs), mann_whitney(theirs, ours)
    assert forward.test(1.5) == pytest.approx(backward.test(-1.5)[::-1])
    assert forward.value == pytest.approx(-backward.value)
    assert forward.interval == pytest.approx(tuple(-end for end in backward.interval[::-1]))


@given(st.permutations(range(6)))
def test_the_order_of_seeds_does_not_matter(order):
    ours, theirs = np.array([0.1, 0.4, 0.4, 0.7, 0.9, 1.0]), np.array([0.2, 0.3, 0.4, 0.4, 0.5, 0.6])
    assert mann_whitney(ours[order], theirs).test(0.1) == mann_whitney(ours, theirs[order]).test(0.1)


def test_an_interval_holds_what_neither_test_rejects():
    generator = np.random.default_rng(0)
    found = mann_whitney(generator.normal(0.5, 1, 8), generator.normal(size=7))
    low, high = found.interval
    assert low < found.value < high
    for inside in (low + 1e-6, high - 1e-6):
        assert min(found.test(inside)) > 0.025
    assert found.p_above(low - 1e-6) <= 0.025
    assert found.p_below(high + 1e-6) <= 0.025


def test_four_against_four_seeds_have_no_interval():
    assert mann_whitney([5, 6, 7, 8], [1, 2, 3, 4]).interval == (1.0, 7.0)  # p = 1/70 at the ends
    assert signed_rank([1, 2, 3, 4]).interval == (-math.inf, math.inf)  # p = 1/16 at the least


def test_a_ratio_is_a_difference_of_logarithms():
    generator = np.random.default_rng(1)
    ours, theirs = generator.lognormal(0.5, 1, 6), generator.lognormal(size=6)
    found, logs = mann_whitney(ours, theirs, is_ratio=True), mann_whitney(np.log(ours), np.log(theirs))
    for border in (0.5, 1.0, 2.0):
        assert found.test(border) == pytest.approx(logs.test(math.log(border)))
    assert np.log(found.interval) == pytest.approx(logs.interval)
    with pytest.raises(StatisticsError, match="-1"):
        mann_whitney([1.0, -1.0], [1.0], is_ratio=True)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_values_that_are_no_numbers_are_refused(values):
    with pytest.raises(StatisticsError):
        mann_whitney(values, [1.0])


def test_arrangements_are_listed_up_to_20000_and_drawn_above():
    assert len(groupings((8, 8))) == math.comb(16, 8)
    assert len({tuple(row) for row in groupings((2, 2, 3))}) == 210
    assert len(signs(14)) == 2**14
    assert len(pairings(7)) == math.factorial(7)
    for drawn in (groupings((9, 9)), signs(15), pairings(8)):
        assert len(drawn) == NUM_DRAWN + 1
    assert groupings((9, 9))[0].tolist() == [0] * 9 + [1] * 9
    assert pairings(8)[0].tolist() == list(range(8))


def test_drawn_arrangements_come_close_to_all_of_them():
    generator = np.random.default_rng(2)
    ours, theirs = generator.normal(0.6, 1, 12), generator.normal(size=12)
    exact = stats.mannwhitneyu(ours, theirs, alternative="greater", method="exact").pvalue
    assert mann_whitney(ours, theirs).p_above(0) == pytest.approx(exact, abs=4 * math.sqrt(exact / NUM_DRAWN))
    assert mann_whitney(ours + 100, theirs).p_above(0) == 1 / (NUM_DRAWN + 1)  # what was seen counts


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
