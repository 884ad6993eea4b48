"""The β-VAE: a heavier rate."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import a_step, distortion_by_hand, rate_by_hand
from unbraid.errors import SpecError
from unbraid.objectives import VAE, BetaVAE


@given(seed=st.integers(0, 1000), beta=st.floats(0, 100))
def test_it_is_distortion_plus_beta_times_the_rate(seed, beta):
    step = a_step(seed)
    assert BetaVAE(beta)(step).total.item() == pytest.approx(
        distortion_by_hand(step) + beta * rate_by_hand(step), rel=1e-12
    )


def test_beta_1_is_the_vae():
    assert torch.equal(BetaVAE(1.0)(a_step()).total, VAE()(a_step()).total)
    assert BetaVAE(1.0).general_form() == VAE().general_form()


def test_beta_0_is_the_distortion_alone():
    loss = BetaVAE(0.0)(a_step())
    assert torch.equal(loss.total, loss.parts["distortion"])


def test_the_logged_rate_is_not_multiplied_by_beta():
    step = a_step()
    for name, part in VAE()(step).parts.items():
        assert torch.equal(BetaVAE(7.0)(step).parts[name], part)


def test_beta_is_its_hyperparameter_and_4_by_default():
    assert BetaVAE().hyperparameters == {"beta": 4.0}


@pytest.mark.parametrize("beta", [-0.1, math.nan, math.inf])
def test_a_beta_that_is_negative_or_not_finite_is_refused_by_name(beta):
    with pytest.raises(SpecError, match=f"BetaVAE: beta is {beta}"):
        BetaVAE(beta)
