"""InfoVAE: a rate that may be light, and codes that together must look like the prior."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import distortion_by_hand, rate_by_hand, step_for
from unbraid.config.schedule import Linear
from unbraid.errors import SpecError
from unbraid.objectives import VAE, BetaVAE, InfoVAE
from unbraid.objectives.terms.mmd import squared_mmd


@given(seed=st.integers(0, 1000), alpha=st.floats(-3, 1), extra=st.floats(0, 100))
def test_it_is_distortion_plus_rate_and_mmd_with_their_weights(seed, alpha, extra):
    step, weight = step_for(InfoVAE(), seed=seed), 1 - alpha + extra + 1e-9
    discrepancy = squared_mmd(step.z, step.draws["prior"]).item()
    expected = distortion_by_hand(step) + (1 - alpha) * rate_by_hand(step) + (alpha + weight - 1) * discrepancy
    assert InfoVAE(alpha=alpha, weight=weight)(step).total.item() == pytest.approx(expected, rel=1e-10)


def test_alpha_0_and_weight_1_are_the_vae():
    step = step_for(InfoVAE())
    torch.testing.assert_close(InfoVAE(alpha=0.0, weight=1.0)(step).total, VAE()(step).total)


def test_weight_1_minus_alpha_is_the_beta_vae():
    step = step_for(InfoVAE())
    torch.testing.assert_close(InfoVAE(alpha=-3.0, weight=4.0)(step).total, BetaVAE(4.0)(step).total)


def test_alpha_1_does_not_penalize_the_rate():
    step = step_for(InfoVAE())
    loss = InfoVAE(alpha=1.0, weight=5.0)(step)
    torch.testing.assert_close(loss.total, loss.parts["distortion"] + 5 * loss.parts["squared_mmd"])


def test_its_settings_reach_the_mmd():
    step = step_for(InfoVAE())
    loss = InfoVAE(kernel="imq", bandwidth="zhao", statistic="unbiased")(step)
    torch.testing.assert_close(
        loss.parts["squared_mmd"], squared_mmd(step.z, step.draws["prior"], "imq", "zhao", "unbiased")
    )


@pytest.mark.parametrize(
    ("alpha", "weight"),
    [
        (1.5, 1.0),
        (0.0, 0.5),
        (0.0, -1.0),
        (math.nan, 1.0),
        (0.0, math.inf),
        (Linear(0.0, 2.0), 10.0),
        (0.0, Linear(0.0, 10.0)),
    ],
)
def test_weights_that_would_reward_what_they_penalize_at_any_moment_are_refused(alpha, weight):
    with pytest.raises(SpecError, match="weight >= 1"):
        InfoVAE(alpha=alpha, weight=weight)


def test_its_numbers_are_its_hyperparameters():
    assert list(InfoVAE().hyperparameters) == ["alpha", "weight"]


def test_the_discrepancy_of_two_batches_from_the_prior_is_what_the_page_says():
    # 2 / B (1 - E k), with E k = (1 + 4 / d)^(-d / 2) for a standard normal: 0.0127 for 128 codes of 10 latents.
    generator = torch.Generator().manual_seed(0)
    values = [squared_mmd(*torch.randn(2, 128, 10, dtype=torch.float64, generator=generator)) for _ in range(20)]
    assert torch.stack(values).mean().item() == pytest.approx(2 / 128 * (1 - 1.4**-5), rel=0.02)


def test_its_defaults_are_those_that_its_page_justifies():
    assert InfoVAE() == InfoVAE(alpha=0.5, weight=100.0, kernel="rbf", bandwidth="dimension", statistic="biased")
