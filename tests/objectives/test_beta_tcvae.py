"""The β-TCVAE: every part of the rate with a weight of its own, and only the total correlation with a heavy one."""

import math
from dataclasses import replace
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import grad

from tests.objectives.steps import a_step, distortion_by_hand, parts_by_hand, rate_by_hand, sampled_rate_by_hand
from unbraid.errors import SpecError
from unbraid.information.aggregate import Estimator
from unbraid.models.distributions import DiagonalGaussian
from unbraid.objectives import BetaTCVAE

every_estimator = pytest.mark.parametrize("estimator", get_args(Estimator))


# Known answers


@every_estimator
@pytest.mark.parametrize(("alpha", "beta", "gamma"), [(1.0, 6.0, 1.0), (0.0, 4.0, 2.0), (0.5, 0.0, 0.0)])
def test_it_is_equation_4_worked_out_one_density_at_a_time(estimator, alpha, beta, gamma):
    step = a_step()
    mutual_information, total_correlation, dimension_wise_kl = parts_by_hand(step, estimator)
    expected = (
        distortion_by_hand(step) + alpha * mutual_information + beta * total_correlation + gamma * dimension_wise_kl
    )
    assert BetaTCVAE(alpha=alpha, beta=beta, gamma=gamma, estimator=estimator)(step).total.item() == pytest.approx(
        expected, rel=1e-10
    )


@every_estimator
def test_with_the_analytic_kl_the_sampled_parts_enter_with_what_exceeds_one(estimator):
    step = a_step()
    mutual_information, total_correlation, dimension_wise_kl = parts_by_hand(step, estimator)
    expected = (
        distortion_by_hand(step)
        + rate_by_hand(step)
        - 0.5 * mutual_information
        + 5 * total_correlation
        + 1 * dimension_wise_kl
    )
    found = BetaTCVAE(alpha=0.5, beta=6.0, gamma=2.0, estimator=estimator, analytic_kl=True)(step).total
    assert found.item() == pytest.approx(expected, rel=1e-10)


def test_weighted_images_weigh_by_their_probability():
    step = a_step(weights=torch.tensor([0.3, 0.02, 0.1, 0.05, 0.2], dtype=torch.float64))
    for estimator in ("naive", "mws", "stratified_pairs"):
        mutual_information, total_correlation, dimension_wise_kl = parts_by_hand(step, estimator)
        expected = distortion_by_hand(step) + mutual_information + 6 * total_correlation + dimension_wise_kl
        assert BetaTCVAE(estimator=estimator)(step).total.item() == pytest.approx(expected, rel=1e-10)


# Laws


@every_estimator
@given(seed=st.integers(0, 1000))
def test_with_all_weights_1_it_is_the_vae_with_a_sampled_rate(estimator, seed):
    step = a_step(seed)
    found = BetaTCVAE(alpha=1.0, beta=1.0, gamma=1.0, estimator=estimator)(step).total
    assert found.item() == pytest.approx(distortion_by_hand(step) + sampled_rate_by_hand(step), rel=1e-11)


@every_estimator
def test_with_all_weights_1_and_the_analytic_kl_it_is_the_vae(estimator):
    step = a_step()
    found = BetaTCVAE(alpha=1.0, beta=1.0, gamma=1.0, estimator=estimator, analytic_kl=True)(step).total
    assert found.item() == pytest.approx(distortion_by_hand(step) + rate_by_hand(step), rel=1e-12)


@given(seed=st.integers(0, 1000), beta=st.floats(0, 50))
def test_beta_weighs_the_total_correlation_and_nothing_else(seed, beta):
    # One peer adds (beta - 1) TC to beta KL, which weighs the whole rate.
    step = a_step(seed)
    at_1, found = (BetaTCVAE(beta=b, estimator="stratified_pairs")(step).total.item() for b in (1.0, beta))
    assert found - at_1 == pytest.approx((beta - 1) * parts_by_hand(step, "stratified_pairs")[1], rel=1e-9, abs=1e-9)


def test_the_loss_is_linear_in_each_weight():
    step = a_step()

    def total(alpha, beta, gamma):
        return BetaTCVAE(alpha=alpha, beta=beta, gamma=gamma)(step).total

    corners = total(1.0, 0.0, 0.0) + total(0.0, 1.0, 0.0) + total(0.0, 0.0, 1.0) - 2 * total(0.0, 0.0, 0.0)
    torch.testing.assert_close(corners, total(1.0, 1.0, 1.0))


def test_the_constants_of_mws_have_no_gradient():
    """MWS is the naive estimate with every log q less by log N: TC is more by (L - 1) log N, and the gradient is the
    same.
    """
    step = a_step()

    def total(loc, estimator):
        posterior = DiagonalGaussian(loc, step.posterior.log_var)
        return BetaTCVAE(estimator=estimator)(
            replace(step, posterior=posterior, z=posterior.rsample(torch.full_like(loc, 0.3)))
        ).total

    torch.testing.assert_close(grad(total)(step.posterior.loc, "mws"), grad(total)(step.posterior.loc, "naive"))
    # alpha log N + beta (L - 1) log N - gamma L log N, with L = 3, N = 50 and weights 1, 6, 1.
    constant = (1 + 6 * 2 - 3) * math.log(50)
    difference = total(step.posterior.loc, "mws") - total(step.posterior.loc, "naive")
    assert difference.item() == pytest.approx(constant, rel=1e-12)


@every_estimator
@pytest.mark.parametrize("analytic_kl", [False, True])
def test_the_log_does_not_depend_on_how_it_is_trained(estimator, analytic_kl):
    step = a_step()
    parts = BetaTCVAE(alpha=0.5, beta=9.0, gamma=2.0, estimator=estimator, analytic_kl=analytic_kl)(step).parts
    for name, part in BetaTCVAE()(step).parts.items():
        assert torch.equal(parts[name], part)


def test_a_narrow_posterior_far_from_a_code_does_not_underflow():
    # One peer takes exp, sum, log, and gets -inf here: both codes lie 2.5 away from both posteriors, whose std is
    # e^-4.5.
    loc = torch.tensor([[0.0], [5.0]])
    posterior, z = DiagonalGaussian(loc, torch.full_like(loc, -9.0)), torch.full_like(loc, 2.5)
    assert bool(posterior.pairwise_log_prob(z).exp().sum(dim=1).log().isinf().all())
    step = replace(a_step(batch=2, latents=1, dtype=torch.float32), posterior=posterior, z=z)
    for estimator in get_args(Estimator):
        assert bool(BetaTCVAE(estimator=estimator)(step).total.isfinite())


# Settings


def test_its_defaults_are_those_of_the_paper():
    assert BetaTCVAE() == BetaTCVAE(alpha=1.0, beta=6.0, gamma=1.0, estimator="mws", analytic_kl=False)


def test_its_weights_are_its_hyperparameters():
    assert BetaTCVAE(beta=3.0).hyperparameters == {"alpha": 1.0, "beta": 3.0, "gamma": 1.0}


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", ["alpha", "beta", "gamma"])
def test_a_weight_that_is_negative_or_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"BetaTCVAE: {name} is {value}"):
        BetaTCVAE(**{name: value})


def test_a_batch_of_one_is_refused():
    with pytest.raises(SpecError, match="at least 2"):
        BetaTCVAE()(a_step(batch=1))


def test_mss_refuses_weighted_images():
    with pytest.raises(SpecError, match="'mss'.*'stratified_pairs'"):
        BetaTCVAE(estimator="mss")(a_step(weights=torch.full((5,), 0.1, dtype=torch.float64)))
