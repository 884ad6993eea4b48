"""The demonstrations of docs/papers/errors.md."""

import math

import numpy as np
import pytest
import torch

from unbraid.codes import Codes
from unbraid.distributions import CorrelatedGaussianLatents, DiagonalGaussian, GaussianLatents, StandardNormal
from unbraid.information.aggregate import decompose, log_weights
from unbraid.metrics import JEMMIG, MIG, MISJED, Correlations, FactorVAEScore, Lemma2Gap
from unbraid.metrics.estimators import Quantised
from unbraid.models import Autoencoder, SharingConv

DEGREE = math.pi / 180


def turned(degrees):
    """Codes of two factors with 16 values each, whose latents are turned against the factors."""
    a, b = np.meshgrid(np.linspace(-1, 1, 16), np.linspace(-1, 1, 16), indexing="ij")
    cos, sin = math.cos(degrees * DEGREE), math.sin(degrees * DEGREE)
    mean = np.stack([cos * a - sin * b, sin * a + cos * b], axis=-1).reshape(-1, 2)
    values = np.stack(np.meshgrid(range(16), range(16), indexing="ij"), axis=-1).reshape(-1, 2)
    return Codes.from_arrays(mean, np.full(mean.shape, 0.05), factors=values)


def test_the_factor_vae_score_does_not_notice_axes_turned_by_less_than_45_degrees():
    scores = [FactorVAEScore(num_train=300, num_test=300)(turned(degrees)).value for degrees in (0, 20, 40)]
    gaps = [MIG()(turned(degrees)).value for degrees in (0, 20, 40)]
    assert scores == [1.0, 1.0, 1.0]
    assert gaps[0] > gaps[1] + 0.1 > gaps[2] + 0.2


def test_means_of_latents_that_say_nothing_correlate_perfectly():
    light = np.linspace(-1, 1, 50)
    dead = np.stack([1e-3 * light, -1e-3 * light], axis=1)
    mean = np.concatenate([dead, np.sin(7 * light)[:, None], np.cos(7 * light)[:, None]], axis=1)
    codes = Codes.from_arrays(mean, np.ones(mean.shape), factors=np.arange(50)[:, None] % 5)
    assert Correlations()(codes).tables["deterministic"][0, 1].item() == pytest.approx(-1.0)
    assert abs(np.cov(dead.T)[0, 1]) < 1e-6
    assert math.isnan(Correlations(min_std=0.05)(codes).tables["deterministic"][0, 1].item())


def test_no_function_of_a_symmetric_sprite_correlates_much_with_its_angle():
    angle = np.arange(40) * 9.0
    looks = angle % 90
    for power in (1, 2, 3):
        assert abs(np.corrcoef(looks**power, angle)[0, 1]) < 0.26


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


def test_mig_is_not_negative():
    rng = np.random.default_rng(0)
    for _ in range(5):
        codes = Codes.from_arrays(rng.normal(size=(60, 3)), np.ones((60, 3)), factors=rng.integers(0, 4, (60, 1)))
        assert MIG()(codes).value >= 0


def test_two_latents_that_hold_nothing_have_a_greatest_misjed():
    for num_bins, limit in ((50, 6.503), (100, 7.889)):
        entropy = 0.5 * math.log(2 * math.pi * math.e) - math.log(8 / num_bins)
        assert abs(2 * entropy - limit) < 0.001
    assert 6.503 < 6.66 < 6.74 < 7.889
    codes = Codes.from_arrays(np.zeros((40, 2)), np.ones((40, 2)), factors=np.arange(40)[:, None] % 4)
    found = float(MISJED(estimator=Quantised(num_bins=50))(codes).tables["misjed"][0, 1])
    assert abs(found - 6.503) < 0.01


def test_jemmig_of_latents_that_say_nothing_depends_on_their_width():
    factors = np.arange(40)[:, None] % 4
    wide = Codes.from_arrays(np.zeros((40, 2)), np.ones((40, 2)), factors=factors)
    narrow = Codes.from_arrays(np.zeros((40, 2)), np.full((40, 2), 0.3), factors=factors)
    assert JEMMIG()(narrow).value < JEMMIG()(wide).value - 0.1


def test_estimates_of_a_total_correlation_may_be_negative():
    """Of independent latents, of which the total correlation is 0."""
    found = []
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        loc, noise = (torch.randn(64, 4, dtype=torch.float64, generator=generator) for _ in range(2))
        posterior = DiagonalGaussian(loc, torch.full_like(loc, -1.0))
        z = posterior.rsample(noise)
        pairs = torch.distributions.Normal(loc[None], math.exp(-0.5)).log_prob(z[:, None])
        parts = decompose(posterior.log_prob(z), pairs, log_weights("eq13", 64, 10_000), StandardNormal().log_prob(z))
        found.append(float(parts.total_correlation.mean()))
    assert min(found) < 0
