"""The VAE with anchors: some latents are rewarded for telling of the image."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import a_step, distortion_by_hand, parts_by_hand, rate_by_hand
from tests.training.squares import Squares
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.models.distributions import CorrelatedGaussian, DiagonalGaussian, GaussianLatents
from unbraid.objectives import VAE, AnchorVAE
from unbraid.objectives.anchor_vae import anchor_information
from unbraid.objectives.decomposed_elbo import decomposition
from unbraid.training.runs.spec import RunSpec


def only(step, anchors):
    """The step of a model that has these latents and no others."""
    chosen = list(anchors)
    posterior = DiagonalGaussian(step.posterior.loc[:, chosen], step.posterior.log_var[:, chosen])
    return replace(step, posterior=posterior, z=step.z[:, chosen])


@pytest.mark.parametrize("anchors", [(0,), (2, 1), (0, 1, 2)])
def test_it_is_the_vae_less_the_information_of_its_anchors(anchors):
    step = a_step()
    information = parts_by_hand(only(step, anchors), "stratified_pairs")[0]
    found = AnchorVAE(2.5, anchors)(step)
    assert found.total.item() == pytest.approx(
        distortion_by_hand(step) + rate_by_hand(step) - 2.5 * information, rel=1e-10
    )
    assert found.parts["anchor_information"].item() == pytest.approx(information, rel=1e-10)


def test_all_latents_as_anchors_tell_the_mutual_information():
    step = a_step()
    parts = AnchorVAE(anchors=(0, 1, 2))(step).parts
    torch.testing.assert_close(parts["anchor_information"], parts["mutual_information"])


def test_anchors_that_are_correlated_given_the_image_count_by_their_joint_density():
    step = a_step()
    posterior = CorrelatedGaussian(step.posterior.loc, step.posterior.log_var, 0.8, exact=True)
    step = replace(step, posterior=posterior)
    torch.testing.assert_close(
        anchor_information(step, (0, 1, 2)), decomposition(step, "stratified_pairs").mutual_information.mean()
    )


def test_weight_0_is_the_vae():
    step = a_step()
    assert torch.equal(AnchorVAE(0.0)(step).total, VAE()(step).total)


@given(seed=st.integers(0, 1000), weight=st.floats(0, 100))
def test_the_reward_is_at_most_log_n(seed, weight):
    """So a weight cannot make the loss unbounded."""
    step = a_step(seed, dataset_size=50)
    far = DiagonalGaussian(100 * step.posterior.loc, torch.full_like(step.z, -20.0))
    step = replace(step, posterior=far, z=far.loc)
    assert AnchorVAE(weight)(step).parts["anchor_information"].item() <= math.log(50) + 1e-9


def test_its_defaults_are_one_anchor_with_weight_1():
    assert AnchorVAE() == AnchorVAE(weight=1.0, anchors=(0,))


@pytest.mark.parametrize("weight", [-1.0, math.nan, math.inf])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(weight):
    with pytest.raises(SpecError, match=f"AnchorVAE: weight is {weight}"):
        AnchorVAE(weight)


def test_no_anchors_are_refused():
    with pytest.raises(SpecError, match="anchors"):
        AnchorVAE(anchors=())


@pytest.mark.parametrize("anchors", [(3,), (-1,), (0, 0)])
def test_anchors_that_are_no_latents_or_repeated_are_refused_when_the_spec_is_built(anchors):
    with pytest.raises(SpecError, match="0 to 2"):
        RunSpec(
            Squares(), model=Autoencoder(latents=GaussianLatents(3)), objective=AnchorVAE(anchors=anchors), batch_size=8
        )
