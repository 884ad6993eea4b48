"""Advice fits the objective that a run had."""

import inspect

import pytest

from unbraid import objectives
from unbraid.config.schedule import Linear
from unbraid.diagnose.diagnose import advice_on, rate_weight
from unbraid.diagnose.diagnosis import depend_less
from unbraid.models.distributions import CorrelatedGaussianLatents, GaussianLatents
from unbraid.objectives import (
    AAE,
    DIPVAE,
    VAE,
    AnnealedVAE,
    BetaTCVAE,
    BetaVAE,
    Composite,
    DecomposedELBO,
    FactorVAE,
    InfoGAN,
    InformationDropout,
    InfoVAE,
    Objective,
)

LATENTS = GaussianLatents(4)
EVERY = [
    cls
    for cls in vars(objectives).values()
    if inspect.isclass(cls) and issubclass(cls, Objective) and not inspect.isabstract(cls)
]


@pytest.mark.parametrize("cls", EVERY, ids=lambda cls: cls.__name__)
def test_every_objective_has_a_way_to_have_latents_used(cls):
    advice = advice_on(cls(), LATENTS)
    assert advice.less_rate
    assert "the terms of codes" not in advice.less_rate  # the advice for unknown objectives


def test_weights_are_told_with_their_numbers():
    advice = advice_on(BetaVAE(1000.0), LATENTS)
    assert advice.less_rate == "a smaller beta (250 instead of 1,000), or a warm-up of it (beta=linear:0:1000)"
    assert advice.more_rate == "a larger beta (2,000 instead of 1,000)"
    scheduled = advice_on(BetaVAE(Linear(0.0, 4.0)), LATENTS)
    assert scheduled.less_rate == "a smaller beta (0.25 times its schedule)"
    assert advice_on(DecomposedELBO(total_correlation=0.0), LATENTS).independence == "a total_correlation above 0"


@pytest.mark.parametrize(
    ("objective", "independence"),
    [
        (VAE(), "BetaTCVAE or FactorVAE, which penalize the total correlation"),
        (BetaTCVAE(beta=4.0), "a larger beta (8 instead of 4)"),
        (FactorVAE(), "a larger gamma (70 instead of 35)"),
        (DIPVAE(), "a larger off_diagonal (20 instead of 10)"),
        (AAE(), "a larger weight of the adversarial loss (20 instead of 10)"),
        (InfoGAN(), ""),
        (Composite(critic=True, critic_total_correlation=3.0), "a larger critic_total_correlation (6 instead of 3)"),
        (Composite(covariance="i", off_diagonal=3.0), "a larger off_diagonal (6 instead of 3)"),
    ],
)
def test_independence_is_asked_of_the_objective_that_there_is(objective, independence):
    assert advice_on(objective, LATENTS).independence == independence


def test_one_latent_cannot_depend_on_another():
    assert advice_on(BetaTCVAE(), GaussianLatents(1)).independence == ""
    assert depend_less(advice_on(BetaTCVAE(), GaussianLatents(1)), "It mixes factors").aim == "look"
    assert depend_less(advice_on(BetaTCVAE(), LATENTS), "They do").aim == "independence"


@pytest.mark.parametrize("exact", [True, False])
def test_correlated_noise_is_not_diagonal(exact):
    assert advice_on(VAE(), LATENTS).is_diagonal
    latents = CorrelatedGaussianLatents(3, exact_kl=exact)
    assert not advice_on(VAE(), latents).is_diagonal
    reason = rate_weight(VAE(), latents).reason
    assert ("correlated" in reason) == (not exact)


@pytest.mark.parametrize(
    ("objective", "reason", "weight"),
    [
        (AnnealedVAE(), "capacity (25 nats", None),
        (DIPVAE(), "covariances", 1.0),
        (FactorVAE(), "critic", 1.0),
        (InfoVAE(alpha=0.25), "0.75", 0.75),
        (AAE(), "no rate", None),
        (InfoGAN(), "no rate", None),
        (Composite(critic=True, anchors=(0,)), "anchors", 1.0),
    ],
)
def test_a_loss_that_has_no_beta_is_known(objective, reason, weight):
    price = rate_weight(objective, LATENTS)
    assert reason in price.reason
    assert price.weight == weight


@pytest.mark.parametrize(
    ("objective", "weight", "parts"),
    [
        (VAE(), 1.0, ""),
        (BetaVAE(Linear(0.0, 4.0)), 4.0, ""),
        (Composite(), 1.0, ""),
        (BetaTCVAE(beta=4.0), None, "mutual information 1, total correlation 4 and dimension-wise KL 1"),
        (BetaTCVAE(beta=4.0, analytic_kl=True), None, "mutual information 1, total correlation 4 and"),
        (BetaTCVAE(alpha=0.3, beta=0.3, gamma=0.3, analytic_kl=True), pytest.approx(0.3), ""),
        (InformationDropout(), None, "mutual information 1, total correlation 1 and dimension-wise KL 0"),
    ],
)
def test_a_loss_on_the_rate_or_its_parts_has_a_beta(objective, weight, parts):
    price = rate_weight(objective, LATENTS)
    assert (price.reason, price.weight) == ("", weight)
    assert price.parts.startswith(parts)
    assert bool(price.parts) == bool(parts)


@pytest.mark.parametrize("objective", [BetaVAE(0.0), FactorVAE(0.0), DecomposedELBO(rate=-0.5), InfoVAE(alpha=1.0)])
def test_a_weight_that_is_not_above_zero_is_not_to_blame(objective):
    assert advice_on(objective, LATENTS).less_rate.startswith("longer training")


def test_a_weight_below_zero_is_raised_above_it():
    assert advice_on(DecomposedELBO(total_correlation=-0.5), LATENTS).independence == "a total_correlation above 0"
    assert advice_on(AnnealedVAE(capacity=0.0), LATENTS).more_rate == ""


def test_a_capacity_is_the_lever_of_a_composite_without_a_rate():
    advice = advice_on(Composite(rate=0.0, capacity=25.0, capacity_distance=1000.0), LATENTS)
    assert advice.less_rate == "a larger capacity (50 instead of 25)"
