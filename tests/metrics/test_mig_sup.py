"""The gap between factors: known answers, an independent computation, and dead latents."""

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
from unbraid.errors import SpecError
from unbraid.information.quantized import histogram_bins
from unbraid.metrics import MIG, MIGSup
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized

# Known answers


@pytest.mark.parametrize("estimator", [Exact(), Quantized(), MeansHistogram()])
def test_one_factor_for_each_latent_scores_one(estimator):
    assert MIGSup(estimator)(grid()).value == pytest.approx(1, abs=1e-3)


def test_a_latent_that_names_two_bits_alike_scores_zero_where_mig_is_one():
    """What MIG does not see: both factors are read off one latent, and off no other."""
    a, b = torch.arange(4) // 2, torch.arange(4) % 2
    mean = torch.stack([2.0 * a + b - 1.5, torch.zeros(4)], dim=1).double()
    codes = Codes(mean, torch.zeros(4, 2).double(), factors=(Labels("a", a), Labels("b", b)))
    assert MIG(Quantized())(codes).value == pytest.approx(1, abs=1e-9)
    assert MIGSup(Quantized())(codes).value == pytest.approx(0, abs=1e-9)


def test_shares_of_the_entropy_are_compared_and_not_nats():
    """A latent holds one of two bits of a, and the one bit of b: half of a and all of b."""
    a, b = torch.arange(8) % 4, torch.arange(8) // 4
    mean = (2.0 * (a % 2) + b - 1.5)[:, None].double()
    codes = Codes(mean, torch.zeros(8, 1).double(), factors=(Labels("a", a), Labels("b", b)))
    assert MIGSup(Quantized())(codes).value == pytest.approx(0.5, abs=1e-9)


def test_it_agrees_with_scikit_learn_on_binned_means():
    codes = random_codes(4)
    bins = histogram_bins(codes.mean, 6, torch.ones(30).double()).numpy()
    labels = [labels.values.numpy() for labels in codes.factors]
    shares = np.array([[mutual_info_score(v, z) / mutual_info_score(v, v) for v in labels] for z in bins.T])
    expected = np.sort(shares, axis=1)[:, -1] - np.sort(shares, axis=1)[:, -2]
    score = MIGSup(MeansHistogram(6))(codes)
    assert score.per_latent == pytest.approx(expected)
    assert score.value == pytest.approx(expected.mean())


# Dead latents


def test_a_dead_latent_is_left_out_or_counts_zero():
    codes = grid(num_noise=2)
    left_out, zero = MIGSup()(codes), MIGSup(uninformative="zero")(codes)
    alive = MIGSup()(latents(codes, [0, 1]))
    assert all(math.isnan(value) for value in left_out.per_latent[2:])
    assert (left_out.value, left_out.interval) == (alive.value, alive.interval)
    assert zero.value == pytest.approx(alive.value / 2)
    assert zero.per_latent[2:] == (0, 0)


def test_without_any_informative_latent_there_is_no_value():
    score = MIGSup(threshold=100.0)(grid())
    assert math.isnan(score.value)
    assert "undefined" in score.notes[-1]


# Laws


@settings(max_examples=10)
@given(seed=st.integers(0, 200))
def test_it_lies_between_zero_and_one_and_knows_no_order(seed):
    codes = random_codes(seed)
    score = MIGSup(uninformative="zero")(codes)
    assert all(0 <= value <= 1 for value in score.per_latent)
    turned = dataclasses.replace(latents(codes, [2, 0, 1]), factors=codes.factors[::-1])
    assert MIGSup(uninformative="zero")(turned).value == pytest.approx(score.value)


def test_with_one_factor_the_second_says_nothing():
    codes = dataclasses.replace(grid(), factors=grid().factors[:1])
    assert MIGSup()(codes).value == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("threshold", [-1e-8, math.inf, math.nan])
def test_a_threshold_is_a_number_of_nats(threshold):
    with pytest.raises(SpecError, match="threshold is"):
        MIGSup(threshold=threshold)
