"""Modularity: known answers, dead latents, and what counts as a factor."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from tests.metrics.test_mig import grid, latents, random_codes
from unbraid.codes import Codes, Labels
from unbraid.errors import SpecError
from unbraid.metrics.estimators import Exact, MeansHistogram, Quantized, Sampled
from unbraid.metrics.modularity import Modularity

ESTIMATORS = (Exact(), Quantized(), MeansHistogram(), Sampled())


# Known answers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_one_factor_for_each_latent_scores_one(estimator):
    score = Modularity(estimator)(grid())
    assert score.per_latent == pytest.approx((1, 1), abs=1e-3)
    assert score.value == pytest.approx(1, abs=1e-3)


def test_a_latent_that_tells_two_factors_alike_scores_zero():
    """Two bits in one latent, both read without error: I is log 2 for each, and M = 1 - 1 / (2 - 1)."""
    a, b = torch.arange(4) // 2, torch.arange(4) % 2
    codes = Codes(
        (2 * a + b)[:, None].double() - 1.5, torch.zeros(4, 1).double(), factors=(Labels("a", a), Labels("b", b))
    )
    assert Modularity()(codes).value == pytest.approx(0, abs=1e-12)


def test_it_is_the_formula_of_the_table():
    score = Modularity(Exact())(random_codes(1))
    table = score.tables["mutual_information"]
    for i, row in enumerate(table.tolist()):
        best = max(row)
        others = sum(value**2 for value in row) - best**2
        assert score.per_latent[i] == pytest.approx(1 - others / (best**2 * (len(row) - 1)))
    assert score.value == pytest.approx(sum(score.per_latent) / 3)


def test_a_dead_latent_scores_zero_and_counts():
    """Its information is rounding, 1e-17 nats or so, whose ratios are arbitrary."""
    score = Modularity()(grid(num_noise=1))
    assert score.per_latent == pytest.approx((1, 1, 0), abs=1e-3)
    assert score.value == pytest.approx(2 / 3, abs=1e-3)


def test_a_collapsed_latent_is_dead_for_q_and_alive_for_binned_means():
    """Means that follow the factor by 1e-4 under a std of 1: peers that bin the means find a perfect latent there."""
    codes = grid(num_noise=1)
    codes.mean[:, 2] = 1e-4 * codes.factors[0].values
    assert Modularity()(codes).per_latent[2] == 0
    assert Modularity(MeansHistogram())(codes).per_latent[2] == pytest.approx(1)


def test_as_published_it_is_the_code_behind_do_and_trans_figure():
    """1 - sum_k (I - T)^2 / max(I*^2 (K - 1), 1e-8), from informations clipped at 0."""
    codes = latents(random_codes(2), [0, 1, 2])
    codes.mean[:, 2], codes.std[:, 2] = 0.0, 1.0
    score = Modularity(uninformative="published")(codes)
    table = score.tables["mutual_information"].clamp(min=0).numpy()
    best = table.max(axis=1)
    others = (table**2).sum(axis=1) - best**2
    expected = 1 - others / np.maximum(best**2 * (table.shape[1] - 1), 1e-8)
    assert score.per_latent == pytest.approx(expected, abs=1e-12)
    assert best[2] ** 2 * (table.shape[1] - 1) < 1e-8 < best[0] ** 2 * (table.shape[1] - 1)


def test_as_published_a_latent_that_tells_nothing_scores_one_and_a_single_factor_is_still_undefined():
    published = Modularity(uninformative="published")
    assert published(grid(num_noise=1)).per_latent == pytest.approx((1, 1, 1), abs=1e-3)
    alone = dataclasses.replace(grid(), factors=grid().factors[:1])
    assert math.isnan(published(alone).value)


def test_a_latent_that_is_left_out_has_no_score_and_changes_nothing():
    codes = grid(num_noise=2)
    left_out, without = Modularity(uninformative="left_out")(codes), Modularity()(latents(codes, [0, 1]))
    assert left_out.per_latent[:2] == without.per_latent
    assert all(math.isnan(value) for value in left_out.per_latent[2:])
    assert (left_out.value, left_out.interval) == (without.value, without.interval)
    assert Modularity()(codes).value == pytest.approx(without.value / 2)


def test_the_threshold_says_which_latents_tell_too_little():
    """The mean over the latents whose row of the table has a number above it."""
    codes = random_codes(3)
    every = Modularity(Exact())(codes)
    most = every.tables["mutual_information"].amax(dim=1)
    threshold = float(most.sort().values[0])
    score = Modularity(Exact(), uninformative="left_out", threshold=threshold)(codes)
    kept = [value for value, told in zip(every.per_latent, most.tolist(), strict=True) if told > threshold]
    assert len(kept) == 2
    assert score.value == pytest.approx(sum(kept) / 2)
    assert Modularity(Exact(), threshold=threshold)(codes).value == pytest.approx(sum(kept) / 3)


def test_where_every_latent_is_left_out_there_is_no_value():
    score = Modularity(uninformative="left_out", threshold=100.0)(grid())
    assert math.isnan(score.value)
    assert "latents were left" in score.notes[-1]


def test_a_score_says_what_dead_latents_counted():
    assert Modularity()(grid()).settings["uninformative"] == "zero"
    assert Modularity(threshold=0.1)(grid()).settings["threshold"] == 0.1
    assert "threshold" not in Modularity(uninformative="published")(grid()).settings


# Laws


def test_scaling_a_row_of_information_changes_nothing():
    """Weaker latents with the same proportions score the same: a channel that drops out at random scales all
    information alike.
    """
    codes = grid(std=0.0)
    table = torch.nn.functional.one_hot(codes.factors[0].values).double()
    erased = torch.cat([0.5 * table, torch.full((20, 1), 0.5).double()], dim=1)
    factors = (codes.factors[0], Labels("half", codes.factors[0].values // 2))
    full, half = (
        Modularity()(Codes.from_arrays(probabilities=(t,), factors={f.name: f.values for f in factors})).value
        for t in (table, erased)
    )
    assert half == pytest.approx(full)
    assert full == pytest.approx(1 - (math.log(2) / math.log(4)) ** 2)


# What is undefined


def test_one_factor_leaves_nothing_to_compare():
    score = Modularity()(dataclasses.replace(grid(num_noise=1), factors=(grid().factors[0],)))
    assert math.isnan(score.value)
    assert score.interval is None
    assert all(math.isnan(value) for value in score.per_latent)
    assert "fewer than two factors" in score.notes[-1]


@pytest.mark.parametrize("threshold", [-1e-8, math.inf, math.nan])
def test_a_threshold_is_a_number_of_nats(threshold):
    with pytest.raises(SpecError, match="threshold is"):
        Modularity(threshold=threshold)
