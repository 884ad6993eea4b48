"""Many settings at once: adjusted p-values, trends, correlations and winners."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbraid.studies.statistics import chances_to_win, correlation_over_settings, holm, trend
from unbraid.studies.statistics.samples import StatisticsError

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


def test_a_trend_has_the_p_value_of_all_permutations():
    groups = [[0.1, 0.4], [0.3, 0.5], [0.45, 0.6]]
    pooled, labels = np.concatenate(groups), [0, 0, 1, 1, 2, 2]

    def in_order(labelling):
        return sum(
            np.sign(pooled[i] - pooled[j])
            for i, j in itertools.permutations(range(6), 2)
            if labelling[i] > labelling[j]
        )

    sums = [in_order(labelling) for labelling in set(itertools.permutations(labels))]
    found = trend(groups, num_permutations=40_000)
    assert found.p_value == pytest.approx(np.mean(np.array(sums) >= in_order(labels)), abs=0.004)  # 4 standard errors
    assert found.share_in_order == pytest.approx(10 / 12)
    assert found.medians == (0.25, 0.4, pytest.approx(0.525))
    assert found.num_inversions == 0


def test_a_trend_is_seen_where_there_is_none_as_seldom_as_it_may_be():
    generator = np.random.default_rng(1)
    seen = [
        trend(list(generator.normal(size=(4, 4))), seed=i, num_permutations=199).p_value <= 0.05 for i in range(400)
    ]
    assert np.mean(seen) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_equal_values_have_no_trend():
    found = trend([[1.0, 1.0], [1.0], [1.0, 1.0]])
    assert (found.p_value, found.share_in_order) == (1.0, 0.5)


@pytest.mark.parametrize(("kind", "independent"), [("spearman", stats.spearmanr), ("pearson", stats.pearsonr)])
def test_the_correlation_over_models_is_scipys(kind, independent):
    generator = np.random.default_rng(2)
    first = [generator.normal(i, 1, 5) for i in range(4)]
    second = [x + generator.normal(size=5) for x in first]
    found = correlation_over_settings(first, second, kind=kind, num_resamples=200)
    assert found.of_models.value == pytest.approx(independent(np.concatenate(first), np.concatenate(second)).statistic)
    means = [x.mean() for x in first], [y.mean() for y in second]
    assert found.of_settings.value == pytest.approx(independent(*means).statistic)
    assert found.of_models.interval[0] <= found.of_models.value <= found.of_models.interval[1]


@pytest.mark.parametrize("resample_settings", [False, True])
def test_scores_that_agree_in_every_model_are_correlated_in_every_resample(resample_settings):
    first = [np.array([0.1, 0.2, 0.3]) + i for i in range(4)]
    found = correlation_over_settings(first, first, resample_settings=resample_settings, num_resamples=100)
    assert found.of_models.interval == pytest.approx((1.0, 1.0))


def test_the_interval_of_a_correlation_holds_it_about_as_often_as_it_says():
    generator = np.random.default_rng(3)
    truth = 0.8
    held = []
    for i in range(80):
        z = generator.normal(size=(2, 6, 12))
        first, second = z[0], truth * z[0] + np.sqrt(1 - truth**2) * z[1]
        found = correlation_over_settings(
            list(first), list(second), kind="pearson", seed=i, num_resamples=100
        ).of_models
        held.append(found.interval[0] <= truth <= found.interval[1])
    assert np.mean(held) >= 0.85


def test_a_setting_that_lies_above_all_others_wins_and_equals_share():
    assert chances_to_win({"a": [2.0, 3.0], "b": [0.0, 1.0]}) == {"a": 1.0, "b": 0.0}
    assert chances_to_win({"a": [2.0, 3.0], "b": [0.0, 1.0]}, higher_is_better=False) == {"a": 0.0, "b": 1.0}
    assert chances_to_win({"a": [1.0], "b": [1.0]}) == {"a": 0.5, "b": 0.5}


def test_the_chance_to_win_is_that_of_all_resamples():
    groups = {"a": [0.0, 2.0], "b": [1.0, 1.0]}  # the median of two is their mean: 0, 1, 1 or 2 against 1
    assert chances_to_win(groups)["a"] == pytest.approx(0.25 + 0.5 / 2, abs=0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: holm([1.2]), "from 0 to 1"),
        (lambda: trend([[1.0]]), "1 groups"),
        (lambda: trend([[1.0], []]), "values of group 2"),
        (lambda: correlation_over_settings([[1.0]] * 2, [[1.0]] * 2), "2 settings"),
        (lambda: correlation_over_settings([[1.0]] * 3, [[1.0, 2.0]] * 3), "1 values of one score and 2"),
        (lambda: correlation_over_settings([[1.0, 2.0]] * 3, [[0.5, 0.5]] * 3), "second score is 0.5 for every model"),
        (lambda: chances_to_win({}), "no settings"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(call, message):
    with pytest.raises(StatisticsError, match=message):
        call()
