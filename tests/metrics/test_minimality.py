"""Minimality and sufficiency: known answers, dependent factors, and the published form in bins."""

import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.test_mig import grid, latents, random_codes
from unbraid.codes import Codes, Labels
from unbraid.errors import SpecError
from unbraid.metrics import MIG, Minimality
from unbraid.metrics.estimators import Exact, MeansHistogram, Neighbors, Quantized

# Known answers


@pytest.mark.parametrize("estimator", [Exact(), Quantized(), MeansHistogram()])
def test_a_latent_that_names_a_factor_and_nothing_else_is_minimal_and_sufficient(estimator):
    score = Minimality(estimator)(grid())
    assert (score.value, score.parts["sufficiency"].value) == pytest.approx((1, 1), abs=1e-2)


def test_a_blurred_latent_is_minimal_and_not_sufficient():
    """Noise is not of the image: what is left of the latent still speaks of its factor alone."""
    score = Minimality()(grid(std=0.8))
    assert score.value == pytest.approx(1, abs=1e-9)
    assert score.parts["sufficiency"].value < 0.7


def test_a_latent_that_also_names_the_image_has_the_share_of_its_factor():
    """Eight images, one latent that tells them all apart: log 2 of log 8 is the factor's."""
    factor = torch.arange(8) % 2
    codes = Codes(torch.arange(8)[:, None].double(), torch.full((8, 1), 0.01).double(), factors=(Labels("v", factor),))
    score = Minimality()(codes)
    assert score.value == pytest.approx(1 / 3, abs=1e-6)
    assert score.parts["sufficiency"].value == pytest.approx(1, abs=1e-6)


def test_dependent_factors_cost_nothing_where_mig_falls():
    """The same code, one latent a factor; the factors are equal in three images of four."""
    a = torch.arange(16) % 2
    b = torch.where(torch.arange(16) % 8 < 6, a, 1 - a)
    mean = torch.stack([a, b], dim=1).double()
    codes = Codes(mean, torch.full_like(mean, 0.05), factors=(Labels("a", a), Labels("b", b)))
    score = Minimality()(codes)
    assert (score.value, score.parts["sufficiency"].value) == pytest.approx((1, 1), abs=1e-6)
    assert MIG()(codes).value < 0.9


def published(labels, means, num_bins=15):
    """max_k I / H(z_j) and max_j I / H(v_k), counted with numpy."""

    def entropy(*columns):
        return scipy.stats.entropy(np.unique(np.stack(columns), axis=1, return_counts=True)[1])

    edges = [np.linspace(z.min(), z.max(), num_bins + 1) for z in means.T]
    bins = [np.clip(np.digitize(z, edge) - 1, 0, num_bins - 1) for z, edge in zip(means.T, edges, strict=True)]
    table = np.array([[entropy(v) + entropy(z) - entropy(v, z) for z in bins] for v in labels])
    of_latents = table.max(axis=0) / [entropy(z) for z in bins]
    return of_latents.mean(), (table.max(axis=1) / [entropy(v) for v in labels]).mean()


@pytest.mark.parametrize("seed", range(3))
def test_with_binned_means_it_is_the_published_form(seed):
    codes = random_codes(seed)
    score = Minimality(MeansHistogram(15))(codes)
    expected = published([labels.values.numpy() for labels in codes.factors], codes.mean.numpy())
    assert (score.value, score.parts["sufficiency"].value) == pytest.approx(expected)


# Laws


@settings(max_examples=10)
@given(seed=st.integers(0, 200))
def test_a_factor_is_never_more_than_the_image(seed):
    """v is a function of x, so I(z; v) <= I(z; x): shares lie between 0 and 1, whatever the order of latents."""
    codes = random_codes(seed)
    score = Minimality()(codes)
    assert all(0 <= share <= 1 + 1e-9 for share in (*score.per_latent, *score.per_factor.values()))
    assert score.interval[0] <= score.value <= score.interval[1]
    assert Minimality()(latents(codes, [1, 2, 0])).value == pytest.approx(score.value)


def test_dead_latents_are_left_out_or_count_zero():
    codes = grid(num_noise=2)
    left_out, zero = Minimality()(codes), Minimality(uninformative="zero")(codes)
    assert all(math.isnan(share) for share in left_out.per_latent[2:])
    assert zero.value == pytest.approx(left_out.value / 2)
    score = Minimality(threshold=100.0)(codes)
    assert math.isnan(score.value)
    assert "undefined" in score.notes[-1]


def test_it_asks_for_entropies_and_a_sane_threshold():
    with pytest.raises(SpecError, match="Neighbors"):
        Minimality(Neighbors())
    with pytest.raises(SpecError, match="threshold is"):
        Minimality(threshold=-1.0)
