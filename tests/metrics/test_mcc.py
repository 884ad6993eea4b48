"""The mean correlation coefficient: known answers, scipy and scikit-learn, and what has no number."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn.cross_decomposition import CCA

from unbraid import Codes
from unbraid.codes import CodesOptions
from unbraid.errors import CodesError
from unbraid.metrics import MCC
from unbraid.metrics.reductions.statistics import Statistics

EVERY = [MCC(correlation, matching) for correlation in ("pearson", "spearman") for matching in ("strong", "weak")]


def sources(seed=0, num_images=300, num_factors=3):
    return np.random.default_rng(seed).uniform(-1, 1, size=(num_images, num_factors))


def codes_of(mean, factors, **more):
    weights = more.pop("weights", None)
    return Codes.from_arrays(mean, factors=factors, weights=weights, options=CodesOptions(**more))


# Known answers


@pytest.mark.parametrize("metric", EVERY, ids=lambda m: f"{m.correlation}-{m.matching}")
def test_sources_in_another_order_and_scale_score_one(metric):
    v = sources()
    score = metric(codes_of(v[:, [2, 0, 1]] * [-3, 0.1, 1] + 5, v))
    assert score.value == pytest.approx(1)
    if metric.matching == "strong":
        assert score.tables["matched_latent"].tolist() == [1, 2, 0]


def test_ranks_see_through_any_rising_function():
    v = sources()
    codes = codes_of(np.exp(5 * v), v)
    assert MCC("spearman")(codes).value == pytest.approx(1)
    assert MCC()(codes).value < 0.9


def test_a_rotation_is_undone_by_a_linear_map_and_costs_a_pairing():
    v = sources(num_images=3000, num_factors=2)
    turn = np.array([[1, -1], [1, 1]]) / math.sqrt(2)
    codes = codes_of(v @ turn, v)
    assert MCC(matching="weak")(codes).value == pytest.approx(1)
    # Both sources have the same variance: each latent correlates by 1 / sqrt(2) with either.
    assert MCC()(codes).value == pytest.approx(1 / math.sqrt(2), abs=0.02)


def test_a_linear_mixture_of_skewed_sources_is_undone_before_ranks_are_taken():
    v = np.random.default_rng(0).exponential(size=(2000, 3)) ** 2
    codes = codes_of(v @ np.random.default_rng(1).normal(size=(3, 3)), v)
    for metric in (MCC(matching="weak"), MCC("spearman", "weak")):
        assert metric(codes).value == pytest.approx(1, abs=1e-6)


def test_ranks_of_canonical_pairs_are_scipys():
    rng = np.random.default_rng(3)
    v = rng.normal(size=(200, 2))
    z = v @ rng.normal(size=(2, 4)) + rng.normal(size=(200, 4))
    left, right = CCA(n_components=2, max_iter=5000, tol=1e-12).fit_transform(z, v)
    expected = [abs(spearmanr(left[:, i], right[:, i]).statistic) for i in range(2)]
    score = MCC("spearman", "weak")(codes_of(z, v))
    assert score.tables["canonical_correlations"].tolist() == pytest.approx(expected, abs=1e-3)


def test_some_of_the_images_are_scored_as_if_there_were_no_others():
    v = sources()
    codes = codes_of(v + np.random.default_rng(1).normal(size=v.shape), v)
    some = MCC(num_samples=100)(codes)
    assert some.value == MCC()(Statistics(codes).drawn(100).codes).value != MCC()(codes).value
    assert (some.settings["num_samples"], "num_samples" in MCC()(codes).settings) == (100, False)


def test_a_factor_without_a_latent_counts_zero():
    v = sources()
    codes = codes_of(v[:, :1], v)
    assert MCC()(codes).per_factor == pytest.approx({"factor_0": 1, "factor_1": 0, "factor_2": 0})
    assert MCC()(codes).value == pytest.approx(1 / 3)
    assert MCC(matching="weak")(codes).value == pytest.approx(1 / 3)


# Independent computations


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_best_assignment_of_scipys_correlations(seed):
    rng = np.random.default_rng(seed)
    v = np.stack([rng.integers(0, 4, 80), rng.integers(0, 3, 80)], axis=1)
    z = rng.normal(size=(80, 4)) + v @ rng.normal(size=(2, 4))
    tables = {"pearson": np.corrcoef(z, v, rowvar=False)[:4, 4:], "spearman": spearmanr(z, v).statistic[:4, 4:]}
    for name, table in tables.items():
        score = MCC(name)(codes_of(z, v))
        np.testing.assert_allclose(score.tables["correlations"], table)
        assert score.value == pytest.approx(np.abs(table)[linear_sum_assignment(-np.abs(table))].mean())


def test_the_weak_form_is_the_mean_correlation_of_scikit_learns_canonical_pairs():
    rng = np.random.default_rng(3)
    v = rng.normal(size=(200, 3))
    z = v @ rng.normal(size=(3, 5)) + rng.normal(size=(200, 5))
    left, right = CCA(n_components=3, max_iter=5000, tol=1e-12).fit_transform(z, v)
    expected = [abs(np.corrcoef(left[:, i], right[:, i])[0, 1]) for i in range(3)]
    score = MCC(matching="weak")(codes_of(z, v))
    assert score.tables["canonical_correlations"].tolist() == pytest.approx(expected, abs=1e-5)
    assert score.value == pytest.approx(np.mean(expected), abs=1e-5)


def test_the_interval_of_one_pair_is_fishers():
    """(1 - r^2) / sqrt(N) for a Gaussian pair; 200 resamples know it to 5 %, N = 2000 to a few more."""
    rng = np.random.default_rng(0)
    v = rng.normal(size=2000)
    score = MCC()(codes_of((0.6 * v + 0.8 * rng.normal(size=2000))[:, None], {"v": v}))
    half = (score.interval[1] - score.interval[0]) / 2
    assert half == pytest.approx(1.96 * (1 - score.value**2) / math.sqrt(2000), rel=0.15)


# Laws


@settings(max_examples=4)
@given(seed=st.integers(0, 100))
@pytest.mark.parametrize("correlation", ["pearson", "spearman"])
def test_the_weak_form_is_no_less_than_the_strong_one_and_both_lie_in_their_bounds(correlation, seed):
    rng = np.random.default_rng(seed)
    codes = codes_of(rng.normal(size=(60, 3)), rng.normal(size=(60, 2)))
    strong, weak = (MCC(correlation, matching)(codes).value for matching in ("strong", "weak"))
    assert 0 <= min(strong, weak) <= max(strong, weak) <= 1
    # The linear map is the best for Pearson's correlations, not for those of ranks.
    assert correlation == "spearman" or strong <= weak + 1e-9


@pytest.mark.parametrize("metric", EVERY, ids=lambda m: f"{m.correlation}-{m.matching}")
def test_whole_weights_count_like_copies_and_missing_labels_like_absent_images(metric):
    v = sources(num_images=60)
    z = v + np.random.default_rng(1).normal(size=v.shape)
    weights = np.arange(60) % 3
    copies = np.repeat(np.arange(60), weights)
    weighted = metric(codes_of(z, v, weights=weights.astype(float)))
    assert weighted.value == pytest.approx(metric(codes_of(z[copies], v[copies])).value)
    some = codes_of(z, {"a": np.where(np.arange(60) < 20, math.nan, v[:, 0])}, missing=math.nan)
    assert metric(some).value == pytest.approx(metric(codes_of(z[20:], {"a": v[20:, 0]})).value)


# What has no number


def test_mere_names_are_left_out_or_numbered():
    rng = np.random.default_rng(0)
    shape, size = rng.integers(0, 3, 200), rng.normal(size=200)
    codes = codes_of(np.stack([size, shape], axis=1), {"shape": shape, "size": size}, unordered=["shape"])
    score = MCC()(codes)
    assert (score.value, math.isnan(score.per_factor["shape"])) == (pytest.approx(1), True)
    assert "shape" in score.notes[0]
    assert MCC(unordered="numbered")(codes).per_factor == pytest.approx({"shape": 1, "size": 1})
    with pytest.raises(CodesError, match="shape"):
        MCC()(codes.with_factors("shape"))


def test_a_latent_that_never_varies_correlates_with_nothing():
    v = sources(num_factors=1)
    codes = codes_of(np.full((300, 1), 0.3), v)
    for metric in EVERY:
        assert metric(codes).value == 0


def test_more_images_than_are_resampled_narrow_the_interval():
    v = sources(num_images=16_000, num_factors=1)
    noise = np.random.default_rng(1).normal(size=v.shape)
    large = codes_of(v + noise, v)
    widths = [np.ptp(MCC()(codes).interval) for codes in (large[:4000], large)]
    assert widths[1] == pytest.approx(widths[0] / 2, rel=0.15)


def test_ties_share_their_rank():
    codes = codes_of(np.array([[0.0], [1.0], [1.0], [2.0]]), {"v": np.array([0, 2, 1, 1])})
    codes = dataclasses.replace(codes, mean=codes.mean.to(torch.float32))
    assert MCC("spearman")(codes).value == pytest.approx(abs(spearmanr([0, 1, 1, 2], [0, 2, 1, 1]).statistic))


def test_canonical_variates_that_differ_by_rounding_are_tied():
    """A latent that is the factor, beside one of noise: the variate has two values, each of them a cloud of 1e-16."""
    rng = np.random.default_rng(0)
    v = rng.integers(0, 2, 1000)
    codes = codes_of(np.stack([v, rng.normal(size=1000)], axis=1), v[:, None])
    assert MCC("spearman", matching="weak")(codes).value == pytest.approx(1)
