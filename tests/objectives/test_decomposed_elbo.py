"""The family that VAE, β-VAE and β-TCVAE belong to, and what it logs."""

import math
from dataclasses import replace
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.objectives.steps import a_step, distortion_by_hand, parts_by_hand, rate_by_hand, sampled_rate_by_hand
from unbraid.errors import SpecError
from unbraid.information.aggregate import Estimator
from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, DecomposedELBO

ESTIMATORS = get_args(Estimator)
PARTS = ("distortion", "rate", "mutual_information", "total_correlation", "dimension_wise_kl")


# Known answers


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_each_weight_multiplies_its_own_term(estimator):
    step = a_step()
    terms = (rate_by_hand(step), *parts_by_hand(step, estimator))
    for place in range(4):
        weights = [0.0] * 4
        weights[place] = 3.0
        found = DecomposedELBO(*weights, estimator=estimator)(step).total
        assert found.item() == pytest.approx(distortion_by_hand(step) + 3 * terms[place], rel=1e-10)


def test_the_log_holds_the_unweighted_parts_in_this_order():
    step = a_step()
    parts = DecomposedELBO(rate=0.3, mutual_information=5.0, total_correlation=7.0, dimension_wise_kl=9.0, estimator="mws")(step).parts
    assert tuple(parts) == PARTS
    expected = (distortion_by_hand(step), rate_by_hand(step), *parts_by_hand(step, "eq13"))
    for name, value in zip(PARTS, expected, strict=True):
        assert parts[name].item() == pytest.approx(value, rel=1e-10)


def test_the_logged_total_correlation_is_exact_where_the_batch_is_the_data_set():
    # With mws it would be more by (L - 1) log N.
    step = a_step(batch=6, dataset_size=6)
    densities = step.posterior.pairwise_log_prob(step.z)
    exact = (densities.sum(2).exp().mean(1).log() - densities.exp().mean(1).log().sum(1)).mean()
    torch.testing.assert_close(DecomposedELBO(estimator="mws")(step).parts["total_correlation"], exact)


def test_equal_posteriors_log_no_information_and_no_correlation():
    step = a_step()
    posterior = type(step.posterior)(torch.zeros_like(step.z), torch.zeros_like(step.z))
    for estimator in ESTIMATORS:
        parts = DecomposedELBO(estimator=estimator)(replace(step, posterior=posterior)).parts
        for name in PARTS[1:]:
            assert parts[name].item() == pytest.approx(0, abs=1e-12)


# Laws


@given(seed=st.integers(0, 1000), estimator=st.sampled_from(ESTIMATORS))
def test_the_logged_parts_sum_to_the_sampled_rate(seed, estimator):
    step = a_step(seed)
    parts = DecomposedELBO(estimator=estimator)(step).parts
    total = sum(parts[name].item() for name in PARTS[2:])
    assert total == pytest.approx(sampled_rate_by_hand(step), rel=1e-11, abs=1e-11)


def test_the_sampled_rate_is_the_rate_on_average():
    """(1, 0, 0, 0) and (0, 1, 1, 1) have the same expectation."""
    step = a_step(batch=1000, latents=1, dataset_size=1000)
    analytic, sampled = DecomposedELBO(1.0, 0.0, 0.0, 0.0)(step), DecomposedELBO(0.0, 1.0, 1.0, 1.0)(step)
    # log q(z|x) - log p(z) of one image has a standard deviation of about 1.5: the mean of 1000 of 0.05.
    torch.testing.assert_close(sampled.total, analytic.total, atol=0.2, rtol=0)


@pytest.mark.parametrize(
    ("special", "weights"),
    [
        (VAE(), (1.0, 0.0, 0.0, 0.0)),
        (BetaVAE(4.0), (4.0, 0.0, 0.0, 0.0)),
        (BetaTCVAE(0.5, 6.0, 2.0), (0.0, 0.5, 6.0, 2.0)),
        (BetaTCVAE(0.5, 6.0, 2.0, analytic_kl=True), (1.0, -0.5, 5.0, 1.0)),
    ],
    ids=repr,
)
def test_its_special_cases(special, weights):
    assert special.general() == DecomposedELBO(*weights)


def test_it_is_its_own_general_form():
    objective = DecomposedELBO()
    assert objective.general() is objective


def test_a_case_keeps_its_estimator():
    assert BetaTCVAE(estimator="mss").general().estimator == "mss"


def test_weighted_images_change_the_log_too():
    weights = torch.tensor([0.3, 0.02, 0.1, 0.05, 0.2], dtype=torch.float64)
    step = a_step(weights=weights)
    parts = DecomposedELBO()(step).parts
    for name, value in zip(PARTS[2:], parts_by_hand(step, "eq13"), strict=True):
        assert parts[name].item() == pytest.approx(value, rel=1e-10)


def test_uniform_weights_change_nothing():
    uniform = torch.full((5,), 1 / 50, dtype=torch.float64)
    torch.testing.assert_close(DecomposedELBO()(a_step(weights=uniform)).total, DecomposedELBO()(a_step()).total)


# Errors


def test_a_weight_may_be_negative():
    assert DecomposedELBO(mutual_information=-1.0).mutual_information == -1.0


@pytest.mark.parametrize("name", ["rate", "mutual_information", "total_correlation", "dimension_wise_kl"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_weight_that_is_not_finite_is_refused_by_name(name, value):
    with pytest.raises(SpecError, match=f"DecomposedELBO: {name} is {value}"):
        DecomposedELBO(**{name: value})
