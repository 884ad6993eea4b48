"""INDIN: known answers. Its identity with SEPIN is in test_sepin.py."""

import math

import pytest
import torch

from tests.metrics.latent_codes import correlated_codes, grid, latents, random_codes
from unbraid.metrics.estimators import Quantized, Sampled
from unbraid.metrics.indin import INDIN
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.separability import Separability


def test_latents_that_share_nothing_keep_all_their_information():
    score = INDIN(Sampled(num_samples=200), conditional="mc")(grid((4, 5), std=0.01))
    assert score.per_latent == pytest.approx([math.log(4), math.log(5)], abs=1e-9)
    shares = [math.log(4) / math.log(20), math.log(5) / math.log(20)]
    assert score.value == pytest.approx(shares[0] * math.log(4) + shares[1] * math.log(5), abs=1e-9)


def test_a_copied_latent_shares_all_it_says():
    assert INDIN(Sampled(num_samples=200), conditional="mc")(
        latents(grid((4,), std=0.01), [0, 0])
    ).value == pytest.approx(0, abs=1e-9)


def test_it_is_information_less_what_is_shared():
    shared = Statistics(correlated_codes(1, num_latents=3))
    told, common, indin = (
        metric(Sampled(num_samples=60)).of(shared).per_latent for metric in (Informativeness, Separability, INDIN)
    )
    assert indin == pytest.approx([a - b for a, b in zip(told, common, strict=True)], abs=1e-12)


def test_noise_shared_by_latents_makes_it_negative():
    """Equal posteriors, correlated: nothing is said, and much is shared. SEPIN is 0 there."""
    codes = correlated_codes(0, num_images=5, rho=0.9)
    codes.mean[:], codes.covariance[:] = 0, codes.covariance[0].clone()
    assert min(INDIN(Sampled(num_samples=2000))(codes).per_latent) == pytest.approx(0.5 * math.log(1 - 0.9**2), abs=0.1)


def test_indin_at_k_averages_the_largest():
    score = INDIN(Sampled(num_samples=50))(random_codes(0))
    ranked = sorted(score.per_latent, reverse=True)
    assert [score.parts[f"INDIN@{k}"].value for k in (1, 2, 3)] == pytest.approx(
        [sum(ranked[:k]) / k for k in (1, 2, 3)]
    )


def test_it_can_be_divided_by_the_entropy_in_bins():
    shared = Statistics(random_codes(1))
    plain, divided = (
        torch.tensor(INDIN(Sampled(num_samples=100), normalize_bins=bins).of(shared).per_latent) for bins in (None, 50)
    )
    entropy = Informativeness(Quantized(num_bins=50)).of(shared).tables["latent_entropy"]
    torch.testing.assert_close(divided.double(), plain.double() / entropy, rtol=1e-6, atol=1e-9)
