"""The demonstrations of docs/papers/errors.md."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from reproductions.catalogue import items
from unbraid.codes import Codes
from unbraid.information.aggregate import decompose, log_weights
from unbraid.information.posteriors import Draws
from unbraid.metrics import (
    JEMMIG,
    MIG,
    Correlations,
    FactorVAEScore,
    Lemma2Gap,
    Separability,
)
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.models import Autoencoder, SharingConv
from unbraid.models.distributions import (
    CorrelatedGaussianLatents,
    DiagonalGaussian,
    GaussianLatents,
    StandardNormalPrior,
)

PAGE = Path(__file__).parents[2] / "docs/papers/errors.md"
DEGREE = math.pi / 180


def turned(degrees):
    """Codes of two factors with 16 values each, whose latents are turned against the factors."""
    a, b = np.meshgrid(np.linspace(-1, 1, 16), np.linspace(-1, 1, 16), indexing="ij")
    cos, sin = math.cos(degrees * DEGREE), math.sin(degrees * DEGREE)
    mean = np.stack([cos * a - sin * b, sin * a + cos * b], axis=-1).reshape(-1, 2)
    values = np.stack(np.meshgrid(range(16), range(16), indexing="ij"), axis=-1).reshape(-1, 2)
    return Codes.from_arrays(mean, np.full(mean.shape, 0.05), factors=values)


def test_the_factor_vae_score_changes_only_where_axes_are_turned_by_45_degrees():
    degrees = (0, 20, 40, 44, 45)
    scores = [FactorVAEScore(num_train=300, num_test=300)(turned(each)).value for each in degrees]
    gaps = [MIG()(turned(each)).value for each in degrees]
    assert scores[:4] == [1.0] * 4
    assert scores[4] == pytest.approx(0.72, abs=0.1)
    assert gaps == pytest.approx([0.85, 0.33, 0.06, 0.01, 0.0], abs=0.01)


def test_the_published_stratified_weights_are_not_on_the_diagonal():
    """The lines of the published code, in NumPy, for a batch of 4 of 100 images."""
    size, batch, others = 100, 4, 3
    published = np.full((batch, batch), 1 / others)
    published.reshape(-1)[:: others + 1] = 1 / size
    published.reshape(-1)[1 :: others + 1] = (size - others) / (size * others)
    published[others - 1, 0] = (size - others) / (size * others)
    ours = log_weights("mss", batch, size).exp().numpy()
    assert published.diagonal() == pytest.approx([0.01, 0.323, 0.333, 0.333], abs=1e-3)
    assert published.sum(axis=1).max() == pytest.approx(1.313, abs=1e-3)
    assert ours.diagonal() == pytest.approx([1 / size] * batch)
    assert ours.sum(axis=1) == pytest.approx(np.ones(batch))


def test_means_of_latents_that_say_nothing_correlate_perfectly():
    light = np.linspace(-1, 1, 50)
    dead = np.stack([1e-3 * light, -1e-3 * light], axis=1)
    mean = np.concatenate([dead, np.sin(7 * light)[:, None], np.cos(7 * light)[:, None]], axis=1)
    codes = Codes.from_arrays(mean, np.ones(mean.shape), factors=np.arange(50)[:, None] % 5)
    assert Correlations()(codes).tables["deterministic"][0, 1].item() == pytest.approx(-1.0)
    assert abs(np.cov(dead.T)[0, 1]) < 1e-6
    assert math.isnan(Correlations(min_std=0.05)(codes).tables["deterministic"][0, 1].item())


def test_an_encoder_that_shares_its_layers_has_a_posterior_without_dependence():
    model = Autoencoder(SharingConv(), latents=GaussianLatents(10)).build((1, 64, 64), seed=0)
    posterior = model.encode(torch.linspace(0, 1, 4 * 64 * 64).reshape(4, 1, 64, 64))
    assert isinstance(posterior, DiagonalGaussian)
    codes = Codes.from_arrays(posterior.mean.detach(), posterior.std.detach(), factors=[[0], [1], [0], [1]])
    dependence = Lemma2Gap()(codes).parts["posterior_dependence"].value
    assert abs(dependence) < 1e-9
    rho, size = CorrelatedGaussianLatents(10, rho=0.9).rho, 10
    correlation = (1 - rho) * np.eye(size) + rho
    assert -0.5 * np.linalg.slogdet(correlation)[1] == pytest.approx(9.26, abs=0.005)


def test_jemmig_of_latents_that_say_nothing_depends_on_their_width():
    factors = np.arange(40)[:, None] % 4
    wide = Codes.from_arrays(np.zeros((40, 2)), np.ones((40, 2)), factors=factors)
    narrow = Codes.from_arrays(np.zeros((40, 2)), np.full((40, 2), 0.3), factors=factors)
    assert JEMMIG()(narrow).value < JEMMIG()(wide).value - 0.1


def test_most_of_the_printed_lead_in_jemmig_for_bangs_is_width():
    """From tables 6 and 7 and figure 12 of Do & Tran: normalized JEMMIG and RMIG, H(y) and I(z*; y)."""
    entropy, bins = 0.4256, math.log(100)
    ours, other = (jemmig * (bins + entropy) for jemmig in (0.6118, 0.8632))
    gap, gap_of_other = (rmig * entropy for rmig in (0.1742, 0.0176))
    width = ours - entropy + gap + 0.0830
    of_prior = 0.5 * math.log(2 * math.pi * math.e) - math.log(0.08)
    assert other - ours == pytest.approx(1.26, abs=0.01)
    assert gap - gap_of_other == pytest.approx(0.07, abs=0.01)
    assert width == pytest.approx(2.81, abs=0.01)
    assert of_prior - width == pytest.approx(1.13, abs=0.01)


def test_a_floor_under_densities_makes_latents_of_pure_noise_separable():
    """Ten latents that are the prior for every image."""
    mean = torch.zeros(600, 10, dtype=torch.float64)
    z = torch.randn(mean.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    statistics = Statistics(Codes(mean, torch.ones_like(mean)), draws=Draws.of(z, torch.arange(len(z))))
    plain, floored = (
        Separability(conditional="mc", density_floor=floor).of(statistics).per_latent for floor in (None, 1e-8)
    )
    assert max(map(abs, plain)) < 1e-12
    assert 0.03 < min(floored) <= max(floored) < 0.07


def test_information_is_not_strictly_convex_so_its_least_value_has_many_solutions():
    """Every encoder that ignores the image has I(x; z) = 0, whatever it draws, and so have their mixtures."""

    def information(table):
        joint = np.array(table) / len(table)
        apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
        return float((joint * np.log(joint / apart)).sum())

    one, other = np.array([[0.3, 0.7]] * 3), np.array([[0.9, 0.1]] * 3)
    for share in (0.0, 0.25, 0.5, 1.0):
        assert information(share * one + (1 - share) * other) == pytest.approx(0, abs=1e-12)


def test_the_bias_of_an_estimated_total_correlation_falls_with_the_batch():
    """Of independent latents, of which the total correlation is 0."""
    means = {}
    for batch in (64, 512):
        found = []
        for seed in range(20):
            generator = torch.Generator().manual_seed(seed)
            loc, noise = (torch.randn(batch, 4, dtype=torch.float64, generator=generator) for _ in range(2))
            posterior = DiagonalGaussian(loc, torch.full_like(loc, -1.0))
            z = posterior.rsample(noise)
            pairs = torch.distributions.Normal(loc[None], math.exp(-0.5)).log_prob(z[:, None])
            table = log_weights("stratified_pairs", batch, 10_000)
            parts = decompose(posterior.log_prob(z), pairs, table, StandardNormalPrior().log_prob(z))
            found.append(float(parts.total_correlation.mean()))
        means[batch] = float(np.mean(found))
    assert means == pytest.approx({64: -0.224, 512: -0.036}, abs=0.005)


def test_every_entry_has_its_words_their_place_the_computation_and_what_would_make_it_wrong():
    _, *entries = PAGE.read_text().split("\n### ")
    assert len(entries) > 5
    for entry in entries:
        marks = re.findall(r"^- \*\*(.+?)\*\*:", entry, re.MULTILINE)
        assert marks == ["Words", "Place", "Computed", "Wrong if"], entry


def test_what_was_found_to_be_no_error_is_listed_no_more():
    text = PAGE.read_text() + " ".join(item.notes for item in items().values())
    withdrawn = (
        "density less a probability",
        "with an angle",
        "exceeds what its caption",
        "violin",
        "of which the paper says nothing",
    )
    for each in withdrawn:
        assert each not in text
    assert not [name for name in items() if "combinations" in name]
