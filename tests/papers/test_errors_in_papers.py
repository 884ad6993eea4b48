"""The demonstrations of docs/papers/errors.md."""

import math

import numpy as np
import pytest
import torch

from unbraid.codes import Codes
from unbraid.distributions import (
    ConcreteLatents,
    CorrelatedGaussianLatents,
    DiagonalGaussian,
    GaussianLatents,
    GroupedLatents,
    StandardNormal,
)
from unbraid.information.aggregate import decompose, log_weights
from unbraid.information.posteriors import Draws
from unbraid.metrics import (
    DCI,
    JEMMIG,
    MIG,
    MISJED,
    Correlations,
    FactorVAEScore,
    Informativeness,
    Lemma2Gap,
    Modularity,
    Separability,
)
from unbraid.metrics.estimators import Quantised
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.models import Autoencoder, SharingConv
from unbraid.objectives.decomposed_elbo import decomposition
from unbraid.objectives.objective import Step
from unbraid.papers.esmaeili2018.mixed_measures import mixed_decomposition
from unbraid.papers.split2020.nets import BASELINE, SPLIT, encoders

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


def test_the_split_encoder_has_more_weights():
    nets = encoders("paper")
    with torch.device("meta"):  # weights are counted, not made
        split, baseline = (
            sum(each.numel() for each in nets[name].make_encoder((1, 64, 64), GaussianLatents(10)).parameters())
            for name in (SPLIT, BASELINE)
        )
    assert split / baseline == pytest.approx(8.7, abs=0.05)


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


def test_a_lasso_on_raw_means_weighs_most_a_latent_that_says_nothing():
    x = np.tile(np.linspace(-1, 1, 32), 8)
    ripple = np.sin(5 * x)
    mean = np.stack([x + 0.3 * ripple, 0.03 * ripple], axis=1)
    codes = Codes.from_arrays(mean, np.array([0.1, 1.0]) * np.ones(mean.shape), factors=np.arange(len(x))[:, None] % 32)
    assert Informativeness()(codes).per_latent[1] < 0.01
    raw, standardised = (
        DCI(standardise=is_standard, rows="all", num_refits=0)(codes).tables["importance"][:, 0]
        for is_standard in (False, True)
    )
    assert raw[1] > 5 * raw[0]
    assert standardised[1] < 0.5 * standardised[0]


def test_latents_that_say_nothing_are_modular_by_the_published_formula():
    factors = np.stack(np.meshgrid(range(16), range(16), indexing="ij"), axis=-1).reshape(-1, 2)
    mean = np.concatenate([factors / 8 - 1, np.zeros((256, 2))], axis=1)
    codes = Codes.from_arrays(mean, np.array([0.05, 0.05, 1.0, 1.0]) * np.ones(mean.shape), factors=factors)
    assert Modularity(uninformative="published")(codes).per_latent == pytest.approx((1, 1, 1, 1), abs=1e-3)
    assert Modularity(uninformative="zero")(codes).per_latent == pytest.approx((1, 1, 0, 0), abs=1e-3)


def test_information_is_not_strictly_convex_so_its_least_value_has_many_solutions():
    """Every encoder that ignores the image has I(x; z) = 0, whatever it draws, and so have their mixtures."""

    def information(table):
        joint = np.array(table) / len(table)
        apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
        return float((joint * np.log(joint / apart)).sum())

    one, other = np.array([[0.3, 0.7]] * 3), np.array([[0.9, 0.1]] * 3)
    for share in (0.0, 0.25, 0.5, 1.0):
        assert information(share * one + (1 - share) * other) == pytest.approx(0, abs=1e-12)


def test_estimates_of_a_total_correlation_have_a_bias_either_way():
    """Of independent latents, of which the total correlation is 0."""
    found, weighted = [], []
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        loc, noise = (torch.randn(64, 4, dtype=torch.float64, generator=generator) for _ in range(2))
        posterior = DiagonalGaussian(loc, torch.full_like(loc, -1.0))
        z = posterior.rsample(noise)
        pairs = torch.distributions.Normal(loc[None], math.exp(-0.5)).log_prob(z[:, None])
        for estimator, into in (("eq13", found), ("mws", weighted)):
            table = log_weights(estimator, 64, 10_000)
            parts = decompose(posterior.log_prob(z), pairs, table, StandardNormal().log_prob(z))
            into.append(float(parts.total_correlation.mean()))
    assert -0.5 < min(found) < max(found) < 0
    assert 27 < min(weighted) < max(weighted) < 29


def test_a_category_that_says_nothing_has_information_where_measures_are_mixed():
    """Codes that are the prior for every image. By one measure the mutual information is 0 in every draw."""
    found = {}
    for temperature in (0.66, 0.2):
        latents = GroupedLatents((GaussianLatents(2), ConcreteLatents(3, measure="density", temperature=temperature)))
        end = torch.ones((), dtype=torch.float64)
        posterior = latents.posterior(torch.zeros(256, latents.num_parameters, dtype=torch.float64), end)
        noise = torch.randn(256, latents.num_noise, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        z, prior = posterior.rsample(noise), latents.make_prior().double()()
        step = Step(
            x=torch.zeros(256, 1, 2, 2, dtype=torch.float64),
            posterior=posterior,
            z=z,
            log_likelihood=torch.zeros(256, dtype=torch.float64),
            prior=prior,
            dataset_size=10_000,
            progress=end,
            groups=latents.groups,
            widths=latents.widths,
        )
        found[temperature] = float(mixed_decomposition(step).mutual_information.mean())
        plain = decomposition(step, "eq13", "model").mutual_information
        assert float(plain.abs().max()) < 1e-9
    assert found[0.66] > 1
    assert found[0.2] > found[0.66] + 1
