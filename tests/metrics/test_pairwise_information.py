"""Pairwise information: closed forms, a slow integral, and laws."""

import math

import numpy as np
import pytest
import torch

from tests.metrics.latent_codes import correlated_codes, grid, latents, random_codes
from unbraid import evaluate
from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.metrics.estimators import Sampled
from unbraid.metrics.pairwise_information import PairwiseInformation
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.selection import select
from unbraid.metrics.separability import Separability

FEW = Sampled(num_samples=100)


def with_correlations(*rhos):
    """Returns an image for each correlation of two latents of variance 1 about 0."""
    covariance = torch.stack([torch.tensor([[1.0, rho], [rho, 1.0]], dtype=torch.float64) for rho in rhos])
    return Codes(torch.zeros(len(rhos), 2, dtype=torch.float64), covariance=covariance)


def integrated(codes):
    """Returns I(z_1, z_2) and I(x, (z_1, z_2)) of two latents, by sums over a fine lattice of the plane."""
    axis = torch.linspace(-8, 8, 641, dtype=torch.float64)
    first, second = torch.meshgrid(axis, axis, indexing="ij")
    points = torch.stack([first.flatten(), second.flatten()], dim=1)
    covariance = torch.diag_embed(codes.std**2) if codes.covariance is None else codes.covariance
    each = [
        torch.distributions.MultivariateNormal(mean, cov).log_prob(points)
        for mean, cov in zip(codes.mean, covariance, strict=True)
    ]
    area = float(axis[1] - axis[0]) ** 2
    mixture = torch.stack(each).exp().mean(dim=0)

    def entropy(density, volume):
        return float(-torch.xlogy(density, density).sum() * volume)

    plane = mixture.view(len(axis), -1)
    width = math.sqrt(area)
    alone = [entropy(plane.sum(dim=dim) * width, width) for dim in (0, 1)]
    joint = entropy(mixture, area)
    given_image = sum(entropy(one.exp(), area) for one in each) / len(each)
    return sum(alone) - joint, joint - given_image


# Known answers


def test_two_readings_of_a_value_share_it_and_a_third_latent_shares_nothing():
    score = PairwiseInformation(FEW)(latents(grid((6, 2), std=0.01), [0, 0, 1]))
    shared = score.tables["shared"]
    assert float(shared[0, 1]) == pytest.approx(math.log(6), abs=1e-9)
    assert shared[0, 2].item() == pytest.approx(0, abs=1e-9)
    assert shared[2, 1].item() == shared[1, 2].item()
    assert bool(shared.diagonal().isnan().all())
    assert score.value == pytest.approx(math.log(6) / 3, abs=1e-9)
    assert score.parts["max"].value == pytest.approx(math.log(6), abs=1e-9)


def test_what_is_shared_given_every_image_is_not_shared_of_the_image():
    """One correlated Gaussian for all images: I(z_1, z_2) = -log(1 - rho^2) / 2, and nothing of it is of x."""
    score = PairwiseInformation(Sampled(num_samples=4000), conditional="mc")(with_correlations(0.8, 0.8))
    low, high = score.interval
    assert low < -0.5 * math.log(1 - 0.8**2) < high
    assert score.parts["of_image"].value == pytest.approx(0, abs=1e-9)


def test_two_latents_may_tell_together_what_neither_tells():
    """Correlations of both signs: each latent alone is the same for both images, and I(x, z_1, z_2) is below 0."""
    codes = with_correlations(0.9, -0.9)
    score = PairwiseInformation(Sampled(num_samples=4000), conditional="mc")(codes)
    shared, together = integrated(codes)
    # Four thousand draws leave a noise of about 0.02 nats.
    assert score.parts["of_image"].value == pytest.approx(-together, abs=0.05)
    assert together > 0.3
    assert score.value == pytest.approx(shared, abs=0.05)


def test_it_is_the_integral_over_the_plane():
    codes = latents(random_codes(3, num_images=4, num_latents=2), [0, 1])
    codes.std[:] = codes.std.clamp(min=0.1)
    score = PairwiseInformation(Sampled(num_samples=4000))(codes)
    shared, together = integrated(codes)
    assert score.value == pytest.approx(shared, abs=0.05)
    assert float(score.tables["informativeness_of_pair"][0, 1]) == pytest.approx(together, abs=0.05)


# Laws


def test_of_two_latents_it_is_their_separability():
    statistics = Statistics(random_codes(0, num_latents=2))
    score = PairwiseInformation(FEW).of(statistics)
    assert score.value == pytest.approx(Separability(FEW).of(statistics).value, abs=1e-12)


def test_without_correlated_posteriors_both_equations_are_one():
    score = PairwiseInformation(FEW)(random_codes(1, num_latents=4))
    off = ~torch.eye(4, dtype=torch.bool)
    assert torch.allclose(score.tables["shared"][off], score.tables["shared_of_image"][off], atol=1e-12)
    other = PairwiseInformation(FEW)(correlated_codes(1, num_latents=3))
    assert other.parts["of_image"].value != pytest.approx(other.value, abs=0.05)


def test_a_discrete_latent_is_one_of_a_pair():
    """A category and a far mean that tell the same bit share it."""
    bit = torch.arange(8) % 2
    codes = Codes(
        10.0 * bit[:, None].double(),
        torch.full((8, 1), 0.1, dtype=torch.float64),
        probabilities=(torch.nn.functional.one_hot(bit).double(),),
    )
    assert PairwiseInformation(FEW)(codes).value == pytest.approx(math.log(2), abs=1e-9)


def test_with_a_floor_no_information_counts_as_less_than_zero():
    codes = random_codes(2)
    floored = PairwiseInformation(FEW, conditional="mc", density_floor=1e-8)(codes)
    assert float(floored.tables["shared"].nan_to_num(0).min()) >= 0
    assert floored.value == pytest.approx(PairwiseInformation(FEW, conditional="mc")(codes).value, abs=0.1)


# What it refuses, and where it is found


def test_a_single_latent_is_no_pair():
    score = PairwiseInformation(FEW)(random_codes(0, num_latents=1))
    assert math.isnan(score.value)
    assert "one latent" in score.notes[-1]


def test_it_is_computed_where_it_is_asked_for_by_name():
    assert "pairwise-information" not in select("all").metrics
    assert "pairwise-information" not in select("unsupervised").metrics
    card = evaluate(random_codes(0), metrics="pairwise-information:sampled:num_samples=50")
    assert card.scores[0].tables["shared"].shape == (3, 3)


def test_more_pairs_than_fit_into_memory_are_refused_with_the_number_of_draws_that_do():
    rng = np.random.default_rng(0)
    codes = Codes.from_arrays(rng.normal(size=(20, 60)), np.full((20, 60), 0.3))
    with pytest.raises(CodesError, match="draws .*12,000,000 .*sampled:6779"):
        PairwiseInformation()(codes)
    assert PairwiseInformation(Sampled(num_samples=10))(codes).tables["shared"].shape == (60, 60)


def test_given_draws_count_for_their_memory():
    rng = np.random.default_rng(0)
    codes = Codes.from_arrays(rng.normal(size=(20, 60)), np.full((20, 60), 0.3))
    drawn = Sampled(num_samples=30_000).draws(Statistics(codes))
    with pytest.raises(CodesError, match="30,000 draws"):
        PairwiseInformation(Sampled(num_samples=10)).measure(Statistics(codes, drawn))
