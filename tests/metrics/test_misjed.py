"""MISJED: known answers, a slow computation, laws, and what it refuses."""

import dataclasses
import math
import statistics as stats

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.latent_codes import grid, latents, random_codes, rows
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError
from unbraid.information.quantized import Bins, quantize
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.misjed import MISJED


def by_hand(codes, num_bins):
    """Marginals from the posteriors' masses, the joint counted by numpy."""
    edges = np.linspace(-4, 4, num_bins + 1)
    marginal = quantize(codes.mean, codes.std, Bins(num_bins)).mean(dim=0).numpy()
    places = np.clip(np.digitize(codes.mean.numpy(), edges) - 1, 0, num_bins - 1)

    def entropy(p):
        return -sum(q * math.log(q) for q in np.ravel(p) if q > 0)

    def table(i, j):
        counts = np.zeros((num_bins, num_bins))
        np.add.at(counts, (places[:, i], places[:, j]), 1 / len(places))
        return entropy(marginal[i]) + entropy(marginal[j]) - entropy(counts)

    num_latents = codes.mean.shape[1]
    return np.array([[table(i, j) for j in range(num_latents)] for i in range(num_latents)])


# Known answers


@settings(max_examples=10)
@given(seed=st.integers(0, 100), num_bins=st.sampled_from([2, 7, 50]))
def test_it_is_the_slow_count(seed, num_bins):
    codes = random_codes(seed)
    score = MISJED(Quantized(num_bins=num_bins))(codes)
    expected = by_hand(codes, num_bins)
    assert score.tables["misjed"].numpy() == pytest.approx(expected, abs=1e-9)
    assert score.value == pytest.approx(expected[np.triu_indices(3, 1)].mean() / (2 * math.log(num_bins)), abs=1e-9)


def test_deterministic_independent_latents_score_zero():
    """Without noise it is the mutual information of the binned means; the diagonal is their entropy."""
    codes = grid((4, 3), std=0.0)
    score = MISJED()(codes)
    assert score.value == pytest.approx(0, abs=1e-12)
    assert score.tables["misjed"].diagonal().tolist() == pytest.approx([math.log(4), math.log(3)])


def test_deterministic_copies_score_their_entropy():
    score = MISJED(Quantized(num_bins=50))(latents(grid((4,), std=0.0), [0, 0]))
    assert score.value == pytest.approx(math.log(4) / (2 * math.log(50)))


def test_wide_posteriors_raise_it_without_any_dependence():
    """A documented limit: independent latents score the more, the noisier they are."""
    scores = [MISJED()(grid((4, 3), std=std)).value for std in (0.0, 0.1, 0.5)]
    assert scores[0] < scores[1] < scores[2]


def test_one_latent_has_no_pair():
    score = MISJED()(random_codes(0, num_latents=1))
    assert math.isnan(score.value)
    assert score.interval is None
    assert "only one" in score.notes[0]
    assert score.tables["misjed"].shape == (1, 1)


# Laws


@settings(max_examples=10)
@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_score_ignores_the_order_of_latents_and_images(seed, order):
    codes = random_codes(seed)
    index = torch.randperm(30, generator=torch.Generator().manual_seed(seed)).repeat(2)
    assert MISJED()(rows(latents(codes, order), index)).value == pytest.approx(MISJED()(codes).value, abs=1e-9)


def test_weights_count_like_repetitions():
    codes = random_codes(0)
    counts = 1 + torch.arange(30) % 3
    weighted = dataclasses.replace(codes, weights=counts.double())
    assert MISJED()(weighted).value == pytest.approx(
        MISJED()(rows(codes, torch.arange(30).repeat_interleave(counts))).value, abs=1e-9
    )


def test_the_interval_is_as_wide_as_the_spread_of_other_samples():
    scores = [MISJED(Quantized(num_bins=10))(random_codes(seed, num_images=400)) for seed in range(60)]
    spread = stats.stdev(score.value for score in scores)
    error = stats.mean((score.interval[1] - score.interval[0]) / 2 / 1.96 for score in scores)
    assert 0.7 * spread < error < 1.5 * spread


def test_labels_are_not_read():
    codes = random_codes(0)
    labeled = dataclasses.replace(codes, factors=(Labels("angle", torch.linspace(0, 1, 30)),))
    assert MISJED()(labeled).value == MISJED()(codes).value


def test_draws_without_densities_are_counted():
    generator = torch.Generator().manual_seed(0)
    codes = random_codes(0)
    samples = codes.mean + codes.std * torch.randn(200, 30, 3, dtype=torch.float64, generator=generator)
    drawn = Codes(samples.mean(dim=0), samples=samples)
    assert MISJED(Quantized(num_bins=10))(drawn).value == pytest.approx(
        MISJED(Quantized(num_bins=10))(codes).value, abs=0.05
    )


def test_whether_more_bins_would_move_it_is_told():
    score = MISJED(Quantized(num_bins=20))(random_codes(0))
    assert score.settled is False
    assert "40 bins" in score.notes[0]
    assert MISJED()(grid((4, 3), std=0.0)).settled is True


# Refusals


def test_discrete_latents_are_refused():
    with pytest.raises(CodesError, match="discrete latents"):
        MISJED()(dataclasses.replace(random_codes(0), probabilities=(torch.full((30, 2), 0.5, dtype=torch.float64),)))


def test_means_alone_are_refused():
    with pytest.raises(CodesError, match="means without std"):
        MISJED()(dataclasses.replace(random_codes(0), std=None))
