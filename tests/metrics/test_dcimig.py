"""DCIMIG: known answers, an independent computation, and what it does not see."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from tests.metrics.test_mig import grid, latents, random_codes
from unbraid.codes import Codes, Labels
from unbraid.information.quantized import histogram_bins
from unbraid.metrics import DCIMIG
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized

# Known answers


@pytest.mark.parametrize("estimator", [Exact(), Quantized(), MeansHistogram()])
def test_one_latent_for_each_factor_scores_one(estimator):
    score = DCIMIG(estimator)(grid(num_noise=1))
    assert score.value == pytest.approx(1, abs=1e-3)
    assert score.per_factor == pytest.approx({"v": 1, "w": 1}, abs=1e-3)


def test_factors_weigh_by_their_entropy():
    """Only the factor of 4 values has a latent: log 4 of log 4 + log 5."""
    score = DCIMIG()(latents(grid(), [0]))
    assert score.value == pytest.approx(math.log(4) / math.log(20), abs=1e-3)
    assert score.per_factor["w"] == 0


def test_a_latent_of_two_factors_counts_by_what_it_says_more_of_one():
    """Two bits of a and one of b in one latent: it is a's, by log 4 - log 2, of log 4 + log 2 in all."""
    a, b = torch.arange(8) % 4, torch.arange(8) // 4
    mean = (a + 4.0 * b - 3.5)[:, None].double()
    codes = Codes(mean, torch.zeros(8, 1).double(), factors=(Labels("a", a), Labels("b", b)))
    score = DCIMIG(Quantized())(codes)
    assert score.value == pytest.approx(1 / 3, abs=1e-9)
    assert score.per_latent == pytest.approx((math.log(2),), abs=1e-9)


def test_it_agrees_with_a_slow_computation_on_binned_means():
    codes = random_codes(5)
    bins = histogram_bins(codes.mean, 6, torch.ones(30).double()).numpy()
    labels = [labels.values.numpy() for labels in codes.factors]
    gaps = np.zeros((3, 2))
    for j, z in enumerate(bins.T):
        row = [mutual_info_score(v, z) for v in labels]
        gaps[j, int(np.argmax(row))] = max(row) - min(row)
    expected = gaps.max(axis=0).sum() / sum(mutual_info_score(v, v) for v in labels)
    assert DCIMIG(MeansHistogram(6))(codes).value == pytest.approx(expected)


# Laws


@settings(max_examples=10)
@given(seed=st.integers(0, 200))
def test_it_lies_between_zero_and_one_and_knows_no_order(seed):
    codes = random_codes(seed)
    value = DCIMIG()(codes).value
    assert 0 <= value <= 1
    turned = dataclasses.replace(latents(codes, [1, 2, 0]), factors=codes.factors[::-1])
    assert DCIMIG()(turned).value == pytest.approx(value)


def test_a_copy_of_a_latent_costs_nothing():
    codes = random_codes(7)
    assert DCIMIG()(latents(codes, [0, 1, 2, 0])).value == pytest.approx(DCIMIG()(codes).value)
