"""The β-SVAE: a heavier rate on a code with discrete latents."""

import math

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import a_mixed_step, a_step, distortion_by_hand
from unbraid.errors import SpecError
from unbraid.objectives import BetaSVAE, BetaVAE


def rate_by_hand(step):
    """The KL of the Gaussian latents, plus that of the discrete one from a uniform prior: log C - H(q)."""
    gaussian, concrete = step.posterior.parts
    continuous = sum(
        (m * m + math.exp(v) - v - 1) / 2
        for m, v in zip(gaussian.loc.flatten().tolist(), gaussian.log_var.flatten().tolist(), strict=True)
    )
    probabilities = concrete.logits.softmax(dim=1)
    discrete = sum(math.log(len(row)) - scipy.stats.entropy(row) for row in probabilities.tolist())
    return (continuous + discrete) / len(step.z)


@given(seed=st.integers(0, 1000), beta=st.floats(0, 100))
def test_it_is_distortion_plus_beta_times_the_rates_of_both_kinds_of_latents(seed, beta):
    step = a_mixed_step(seed)
    assert BetaSVAE(beta)(step).total.item() == pytest.approx(
        distortion_by_hand(step) + beta * rate_by_hand(step), rel=1e-11
    )


def test_without_discrete_latents_it_is_the_beta_vae():
    assert torch.equal(BetaSVAE(3.0)(a_step()).total, BetaVAE(3.0)(a_step()).total)
    assert BetaSVAE(3.0).general_form() == BetaVAE(3.0).general_form()


def test_the_logged_rate_counts_both_kinds_and_is_not_multiplied():
    step = a_mixed_step()
    assert BetaSVAE(9.0)(step).parts["rate"].item() == pytest.approx(rate_by_hand(step), rel=1e-11)


def test_beta_is_its_hyperparameter_and_4_by_default():
    assert BetaSVAE().hyperparameters == {"beta": 4.0}


@pytest.mark.parametrize("beta", [-0.1, math.nan, math.inf])
def test_a_beta_that_is_negative_or_not_finite_is_refused_by_name(beta):
    with pytest.raises(SpecError, match=f"BetaSVAE: beta is {beta}"):
        BetaSVAE(beta)
