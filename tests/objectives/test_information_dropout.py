"""Information dropout: few nats, independent latents, and no prior."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import a_step, distortion_by_hand, five_weights, parts_by_hand
from tests.training.squares import Squares
from unbraid.errors import SpecError
from unbraid.models import Autoencoder
from unbraid.models.distributions import DiagonalGaussian, GaussianLatents, LearnedGaussianPrior
from unbraid.objectives import BetaTCVAE, DecomposedELBO, InformationDropout
from unbraid.training.runs.spec import RunSpec


@given(seed=st.integers(0, 1000), beta=st.floats(0, 20), gamma=st.floats(0, 20))
def test_it_is_distortion_plus_beta_information_plus_gamma_total_correlation(seed, beta, gamma):
    step = a_step(seed)
    mutual_information, total_correlation, _ = parts_by_hand(step, "stratified_pairs")
    expected = distortion_by_hand(step) + beta * mutual_information + gamma * total_correlation
    assert InformationDropout(beta=beta, gamma=gamma)(step).total.item() == pytest.approx(expected, rel=1e-9)


def test_it_is_the_beta_tcvae_without_its_dimension_wise_kl():
    step = a_step()
    expected = BetaTCVAE(alpha=2.0, beta=3.0, gamma=0.0, estimator="stratified_pairs")(step).total
    assert torch.equal(InformationDropout(beta=2.0, gamma=3.0)(step).total, expected)


def test_nothing_in_it_fixes_the_scale_of_a_latent():
    """Ten times the means and stds, and the place of the origin, change nothing: docs say so."""
    step = a_step()
    wide = DiagonalGaussian(10 * step.posterior.loc + 3, step.posterior.log_var + 2 * math.log(10))
    torch.testing.assert_close(
        InformationDropout(beta=2.0, gamma=3.0)(replace(step, posterior=wide, z=10 * step.z + 3)).total,
        InformationDropout(beta=2.0, gamma=3.0)(step).total,
    )


def test_its_general_form():
    expected = DecomposedELBO(**five_weights(0.0, 2.0, 3.0, 0.0, 0.0), estimator="mss")
    assert InformationDropout(beta=2.0, gamma=3.0, estimator="mss").general_form() == expected


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["beta", "gamma"])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"InformationDropout: {name} is {value}"):
        InformationDropout(**{name: value})


def test_a_learned_prior_is_refused():
    latents = GaussianLatents(3, prior=LearnedGaussianPrior())
    with pytest.raises(SpecError, match="prior.*StandardNormalPrior"):
        RunSpec(Squares(), model=Autoencoder(latents=latents), objective=InformationDropout(), batch_size=8)
