"""What is logged is what it is called, also where the loss takes another density than that of the draws."""

import math
from dataclasses import replace

import pytest
import torch

from tests.objectives.steps import a_step, step_for
from unbraid.models.distributions import (
    ConcreteLatents,
    CorrelatedGaussian,
    DiagonalGaussian,
    GaussianLatents,
    GroupedLatents,
)
from unbraid.objectives import (
    DIPVAE,
    HFVAE,
    VAE,
    AnchorVAE,
    AnnealedVAE,
    BetaTCVAE,
    Composite,
    FactorVAE,
    InformationDropout,
    InfoVAE,
)

OBJECTIVES = [
    VAE(),
    BetaTCVAE(),
    BetaTCVAE(estimator="stratified_pairs"),
    HFVAE(groups=((0, 1), (2,))),
    InformationDropout(),
    AnchorVAE(anchors=(0, 2)),
    AnnealedVAE(capacity=3.0),
    FactorVAE(),
    DIPVAE(),
    InfoVAE(),
    Composite(rate=2.0, anchor_information=-1.0, anchors=(0, 1), capacity_distance=1.0, capacity=2.0),
]


def correlated(step, *, exact):
    return replace(step, posterior=CorrelatedGaussian(step.posterior.loc, step.posterior.log_var, 0.9, exact))


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: type(objective).__name__)
def test_the_switch_of_correlated_noise_changes_the_loss_and_nothing_that_is_logged(objective):
    step = step_for(objective)
    plain, exact = (objective(correlated(step, exact=exact)) for exact in (False, True))
    assert plain.parts.keys() == exact.parts.keys()
    for name, part in plain.parts.items():
        torch.testing.assert_close(part, exact.parts[name], msg=name)
    # The loss is that of independent latents with the same means and log-variances, at the same codes.
    if not isinstance(objective, DIPVAE):
        torch.testing.assert_close(plain.total, objective(step).total)
    assert not torch.isclose(plain.total, exact.total)


def test_the_logged_rate_of_ten_latents_with_correlation_0_9_holds_the_9_nats_that_the_diagonal_one_lacks():
    step = a_step(latents=10)
    diagonal, true = (VAE()(each).parts["rate"] for each in (step, correlated(step, exact=False)))
    assert true.item() - diagonal.item() == pytest.approx(-(9 * math.log(0.1) + math.log(9.1)) / 2)


def test_a_step_whose_density_is_that_of_its_draws_is_logged_as_it_is():
    step = a_step()
    assert isinstance(step.posterior, DiagonalGaussian)
    assert step.as_logged() is step
    family = GroupedLatents((GaussianLatents(2), ConcreteLatents(3)))
    posterior = family.posterior(torch.zeros(5, family.num_parameters, dtype=torch.float64), step.progress)
    assert posterior.with_true_density() is posterior


# ---- steps that are not logged


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: type(objective).__name__)
def test_the_loss_is_the_same_to_the_bit_where_its_parts_are_not_read(objective):
    step = step_for(objective)
    assert torch.equal(objective(replace(step, is_logged=False)).total, objective(step).total)
    exact = correlated(step, exact=True)
    assert torch.equal(objective(replace(exact, is_logged=False)).total, objective(exact).total)


@pytest.mark.parametrize(
    "objective",
    [VAE(), AnnealedVAE(capacity=3.0), FactorVAE(), DIPVAE(), InfoVAE()],
    ids=lambda objective: type(objective).__name__,
)
def test_codes_are_compared_for_the_log_alone(objective, monkeypatch):
    compared = []
    pairwise = DiagonalGaussian.pairwise_log_prob
    monkeypatch.setattr(DiagonalGaussian, "pairwise_log_prob", lambda *given: compared.append(1) or pairwise(*given))
    step = step_for(objective)
    assert objective(replace(step, is_logged=False)).parts.keys() < objective(step).parts.keys()
    assert len(compared) == 1
