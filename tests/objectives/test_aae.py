"""The adversarial autoencoder: codes that pass for draws from the prior."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy_with_logits

from tests.objectives.steps import distortion_by_hand, step_for
from tests.training.squares import MLP_SPEC
from unbraid.errors import SpecError
from unbraid.models.distributions import DeterministicLatents, GaussianLatents, LearnedGaussianPrior, UniformPrior
from unbraid.objectives import AAE


def losses_by_hand(step):
    """What the generator and the critic minimize, by torch's cross-entropy."""
    ones, zeros = torch.ones(len(step.z), 1).double(), torch.zeros(len(step.z), 1).double()
    of_codes, of_prior = step.critic(step.z), step.critic(step.draws["prior"])
    generator = binary_cross_entropy_with_logits(of_codes, ones)
    return generator, binary_cross_entropy_with_logits(of_prior, ones) + binary_cross_entropy_with_logits(
        of_codes, zeros
    )


@given(seed=st.integers(0, 1000), weight=st.floats(0, 100))
def test_it_is_the_distortion_plus_the_weight_times_the_cross_entropy_of_passing_for_the_prior(seed, weight):
    step = step_for(AAE(), seed=seed)
    generator, critic = losses_by_hand(step)
    loss = AAE(weight)(step)
    assert loss.total.item() == pytest.approx(distortion_by_hand(step) + weight * generator.item(), rel=1e-12)
    assert loss.parts["generator"].item() == pytest.approx(generator.item())
    assert loss.critic.item() == pytest.approx(critic.item())


def test_a_critic_that_cannot_tell_loses_twice_log_2():
    blind = replace(step_for(AAE()), critic=lambda z: 0 * z[:, :1], critic_in_training=lambda z: 0 * z[:, :1])
    loss = AAE()(blind)
    assert loss.critic.item() == pytest.approx(2 * math.log(2))
    assert loss.parts["generator"].item() == pytest.approx(math.log(2))


def test_the_encoder_still_learns_while_the_critic_wins():
    # log(1 - D), the saturating form, has a gradient of exp(-30) there; -log D has one of 1.
    logit = torch.full((4, 1), -30.0, dtype=torch.float64, requires_grad=True)
    step = replace(step_for(AAE(), batch=4), critic=lambda z: logit)
    AAE(weight=1.0)(step).parts["generator"].backward()
    torch.testing.assert_close(logit.grad, torch.full((4, 1), -0.25, dtype=torch.float64))


def test_codes_need_no_density():
    class Draws:
        """A posterior of which only draws are known."""

    step = step_for(AAE())
    assert torch.equal(AAE()(replace_posterior(step, Draws())).total, AAE()(step).total)


def replace_posterior(step, posterior):
    """Past the type checks: nothing of it may be read."""
    changed = replace(step)
    object.__setattr__(changed, "posterior", posterior)
    return changed


def test_its_default_is_that_of_do_and_tran():
    assert AAE().hyperparameters == {"weight": 10.0}


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(weight):
    with pytest.raises(SpecError, match=f"AAE: weight is {weight}"):
        AAE(weight)


@pytest.mark.parametrize(
    "latents", [GaussianLatents(3), DeterministicLatents(3), GaussianLatents(3, prior=UniformPrior())], ids=str
)
def test_any_codes_with_a_prior_to_draw_from_will_do(latents):
    assert replace(MLP_SPEC, model=replace(MLP_SPEC.model, latents=latents), objective=AAE()).model.latents == latents


def test_a_learned_prior_is_refused_when_the_spec_is_built():
    latents = GaussianLatents(3, prior=LearnedGaussianPrior())
    with pytest.raises(SpecError, match="prior.*StandardNormalPrior"):
        replace(MLP_SPEC, model=replace(MLP_SPEC.model, latents=latents), objective=AAE())
