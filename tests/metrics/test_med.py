"""MED and top-k MED: known answers, an independent computation, and codes of many latents."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from tests.metrics.test_mig import grid, latents, random_codes
from unbraid.codes import Codes, Labels
from unbraid.errors import SpecError
from unbraid.information.quantized import histogram_bins
from unbraid.metrics import MED
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized


@pytest.mark.parametrize("estimator", [Exact(), Quantized(), MeansHistogram()])
def test_one_latent_for_each_factor_scores_one(estimator):
    score = MED(estimator)(grid(num_noise=2))
    assert score.value == pytest.approx(1, abs=1e-2)
    assert score.parts["completeness"].value == pytest.approx(1, abs=1e-2)


def test_a_latent_of_two_factors_alike_scores_zero():
    a, b = torch.arange(4) // 2, torch.arange(4) % 2
    mean = (2.0 * a + b - 1.5)[:, None].double()
    codes = Codes(mean, torch.zeros(4, 1).double(), factors=(Labels("a", a), Labels("b", b)))
    assert MED(Quantized())(codes).value == pytest.approx(0, abs=1e-9)


def slow(codes, num_bins, num_top=None):
    """D and C from binned means, as the published code has them, with scipy's entropies."""
    bins = histogram_bins(codes.mean, num_bins, torch.ones(len(codes)).double()).numpy()
    table = np.array([[mutual_info_score(labels.values.numpy(), z) for labels in codes.factors] for z in bins.T])
    table = table / table.sum(axis=0)
    per_latent = 1 - scipy.stats.entropy(table.T + 1e-11, base=table.shape[1])
    if num_top is not None:
        kept = []
        for factor in range(table.shape[1]):
            own = [j for j in np.argsort(-per_latent) if table[j].argmax() == factor]
            kept += own[:num_top]
        table, per_latent = table[sorted(kept)], per_latent[sorted(kept)]
    per_factor = 1 - scipy.stats.entropy(table + 1e-11, base=len(table))
    return (
        (per_latent * table.sum(axis=1)).sum() / table.sum(),
        (per_factor * table.sum(axis=0)).sum() / table.sum(),
    )


@pytest.mark.parametrize("num_top", [None, 1, 2])
def test_it_agrees_with_a_slow_computation_on_binned_means(num_top):
    codes = random_codes(2, num_latents=6)
    score = MED(MeansHistogram(6), num_top=num_top)(codes)
    expected = slow(codes, 6, num_top)
    assert (score.value, score.parts["completeness"].value) == pytest.approx(expected, abs=1e-8)


def test_the_best_latents_of_each_factor_are_looked_at():
    """Noise latents, and blurred copies of the good ones, are left out."""
    codes = grid(num_noise=3)
    score = MED(num_top=1)(codes)
    assert [not math.isnan(value) for value in score.per_latent] == [True, True, False, False, False]
    alone = MED()(latents(codes, [0, 1]))
    assert score.value == pytest.approx(alone.value, abs=1e-6)


@settings(max_examples=10)
@given(seed=st.integers(0, 200), num_top=st.sampled_from([None, 1, 2]))
def test_it_lies_between_zero_and_one_and_knows_no_order(seed, num_top):
    codes = random_codes(seed)
    score = MED(num_top=num_top)(codes)
    assert 0 <= score.value <= 1
    assert score.interval[0] <= score.value <= score.interval[1]
    assert MED(num_top=num_top)(latents(codes, [2, 0, 1])).value == pytest.approx(score.value)


def test_hundreds_of_latents_take_a_moment():
    rng = np.random.default_rng(0)
    v = rng.integers(0, 4, size=(500, 3))
    mean = np.concatenate([v, rng.normal(size=(500, 250))], axis=1)
    codes = Codes.from_arrays(mean, factors=v)
    assert MED(MeansHistogram(20), num_top=1)(codes).value > 0.9 > MED(MeansHistogram(20))(codes).value


def test_at_least_one_latent_of_each_factor_is_looked_at():
    with pytest.raises(SpecError, match="num_top is 0"):
        MED(num_top=0)


def test_a_latent_that_says_nothing_takes_the_place_of_no_other():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, 2000), rng.integers(0, 2, 2000)
    mean = np.stack([a, 0.8 * (a == 0) + 0.5 * b, np.zeros(2000)], axis=1)

    def score(num_latents):
        codes = Codes.from_arrays(mean[:, :num_latents], np.full((2000, num_latents), 0.3), factors={"a": a, "b": b})
        return MED(num_top=1)(codes)

    assert score(3).value == pytest.approx(score(2).value)
    assert math.isnan(score(3).per_latent[2])
    assert MED()(Codes.from_arrays(mean, np.full((2000, 3), 0.3), factors={"a": a, "b": b})).per_latent[2] == 0


def test_dead_latents_leave_the_completeness_of_a_factor_that_one_latent_holds():
    a, b = torch.arange(40) % 4, torch.arange(40) // 4 % 2
    mean = torch.zeros(40, 10).double()
    mean[:, 0] = 3.0 * a
    codes = Codes(mean, torch.full((40, 10), 0.3).double(), factors=(Labels("a", a), Labels("b", b)))
    assert MED(Quantized())(codes).per_factor["a"] == pytest.approx(1, abs=1e-6)
