"""Medians, bests and predictions: closed forms, and how often their intervals hold what they should."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbraid.studies.statistics import best_of, median, prediction_interval
from unbraid.studies.statistics.samples import StatisticsError

SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=7)


def test_the_interval_of_a_median_is_that_of_the_exact_bootstrap_distribution():
    """Of n distinct values (n odd), P(resampled median <= the i-th) is a binomial tail."""
    values = np.array([0.1, 0.15, 0.3, 0.32, 0.5, 0.55, 0.6, 0.8, 0.9])
    n = len(values)
    below = np.array([stats.binom.sf((n + 1) // 2 - 1, n, i / n) for i in range(1, n + 1)])
    low, high = (values[np.searchsorted(below, tail)] for tail in (0.025, 0.975))
    found = median(values)
    assert found.value == 0.5
    assert found.interval == pytest.approx((low, high))


def test_the_interval_of_a_median_holds_it_about_as_often_as_it_says():
    generator = np.random.default_rng(0)
    held = [
        low <= 0.0 <= high
        for low, high in (median(generator.normal(size=15), seed=i, num_resamples=400).interval for i in range(300))
    ]
    assert 0.90 <= np.mean(held) <= 0.995  # percentile intervals of medians of 15 cover 93 to 96 %


@given(SCORES, st.booleans(), st.data())
def test_the_best_of_some_seeds_is_the_mean_over_all_choices(values, higher_is_better, data):
    num_seeds = data.draw(st.integers(1, len(values)))
    best = max if higher_is_better else min
    expected = np.mean([best(choice) for choice in itertools.combinations(values, num_seeds)])
    found = best_of(values, num_seeds, higher_is_better=higher_is_better, num_resamples=50)
    assert found.value == pytest.approx(expected)
    assert min(values) - 1e-12 <= found.interval[0] <= found.interval[1] <= max(values) + 1e-12


def test_one_more_seed_falls_into_the_prediction_interval_as_often_as_it_says():
    generator = np.random.default_rng(1)
    draws = generator.normal(3, 2, (4000, 9))
    held = [low <= row[-1] <= high for row in draws for low, high in [prediction_interval(row[:-1], level=0.9)]]
    assert np.mean(held) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / 4000))


def test_a_prediction_is_cut_at_the_bounds_of_the_score():
    assert prediction_interval([0.9, 0.95, 1.0], bounds=(0.0, 1.0))[1] == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: median([]), "at least 1 numbers"),
        (lambda: median([0.1, float("nan")]), "1 of 2 values are not finite"),
        (lambda: median(np.ones((2, 2))), "shape"),
        (lambda: median([0.1], level=95.0), "level is 95"),
        (lambda: prediction_interval([0.1]), "at least 2"),
        (lambda: best_of([0.1, 0.2], 3), "best of 3 seeds"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_the_reason(call, message):
    with pytest.raises(StatisticsError, match=message):
        call()


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(2).random(8)
    assert median(values, seed=1) == median(values, seed=1)
    assert median(values, seed=1).interval != median(values, seed=2, num_resamples=100).interval
