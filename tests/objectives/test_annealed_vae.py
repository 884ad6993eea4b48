"""The annealed VAE: the rate is held at a capacity."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import a_step, distortion_by_hand, rate_by_hand
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError
from unbraid.objectives import VAE, AnnealedVAE, BetaVAE


@given(seed=st.integers(0, 1000), gamma=st.floats(0, 1000), capacity=st.floats(0, 100))
def test_it_is_distortion_plus_gamma_times_the_distance_of_the_rate_from_the_capacity(seed, gamma, capacity):
    step = a_step(seed)
    expected = distortion_by_hand(step) + gamma * abs(rate_by_hand(step) - capacity)
    assert AnnealedVAE(gamma=gamma, capacity=capacity)(step).total.item() == pytest.approx(expected, rel=1e-11)


def test_the_rate_is_averaged_before_its_distance_is_taken():
    # One peer averages |KL of an image - C|, which asks every image for the same rate: here some lie above C, some
    # below.
    step = a_step()
    rates = step.prior.kl_from(step.posterior, step.z).sum(dim=1)
    capacity = rates.mean().item()
    found = AnnealedVAE(gamma=1000.0, capacity=capacity)(step)
    assert found.total.item() == pytest.approx(distortion_by_hand(step), rel=1e-9)
    assert (rates - capacity).abs().mean() > 0.5


def test_at_capacity_0_it_is_the_beta_vae_and_with_gamma_1_the_vae():
    step = a_step()
    torch.testing.assert_close(AnnealedVAE(gamma=7.0, capacity=0.0)(step).total, BetaVAE(7.0)(step).total)
    torch.testing.assert_close(AnnealedVAE(gamma=1.0, capacity=0.0)(step).total, VAE()(step).total)


def test_below_its_capacity_a_rate_is_pushed_up():
    step = a_step()
    rate = rate_by_hand(step)
    low, high = AnnealedVAE(gamma=2.0, capacity=rate + 3.0)(step), AnnealedVAE(gamma=2.0, capacity=rate + 4.0)(step)
    assert (high.total - low.total).item() == pytest.approx(2.0)


def test_below_its_capacity_a_rate_is_pushed_up_by_upward_times_gamma_and_left_alone_with_upward_0():
    step = a_step()
    rate = rate_by_hand(step)
    for upward in (0.0, 0.25):
        found = AnnealedVAE(gamma=2.0, capacity=rate + 3.0, upward=upward)(step)
        assert found.total.item() == pytest.approx(distortion_by_hand(step) + 2.0 * upward * 3.0)
        above = AnnealedVAE(gamma=2.0, capacity=rate - 1.0, upward=upward)(step)
        assert above.total.item() == pytest.approx(distortion_by_hand(step) + 2.0)
        assert found.parts["capacity_distance"].item() == pytest.approx(3.0)


def test_the_capacity_grows_over_training():
    step = a_step()
    rate = rate_by_hand(step)
    for progress, capacity in ((0.0, 0.0), (0.5, 12.5), (1.0, 25.0)):
        loss = AnnealedVAE().at(torch.tensor(progress, dtype=torch.float64))(step)
        assert loss.total.item() == pytest.approx(distortion_by_hand(step) + 1000 * abs(rate - capacity), rel=1e-12)
        assert loss.parts["capacity_distance"].item() == pytest.approx(abs(rate - capacity), rel=1e-12)


def test_it_logs_the_parts_of_the_vae_and_its_distance():
    step = a_step()
    parts = AnnealedVAE(gamma=10.0, capacity=5.0)(step).parts
    assert tuple(parts) == (*VAE()(step).parts, "capacity_distance")
    for name, part in VAE()(step).parts.items():
        assert torch.equal(parts[name], part)


def test_by_default_25_nats_are_let_out_with_a_weight_of_1000():
    assert AnnealedVAE() == AnnealedVAE(gamma=1000.0, capacity=Linear(0.0, 25.0))


def test_without_a_moment_the_growing_capacity_says_what_it_lacks():
    with pytest.raises(SpecError, match="objective.at"):
        AnnealedVAE()(a_step())


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf, Linear(-1.0, 5.0)])
@pytest.mark.parametrize("name", ["gamma", "capacity", "upward"])
def test_a_number_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"AnnealedVAE: {name} is"):
        AnnealedVAE(**{name: value})
