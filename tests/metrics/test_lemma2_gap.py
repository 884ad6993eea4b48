"""The gap of Lemma 2: both sides agree, with and without correlated posteriors."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.latent_codes import correlated_codes, grid, prior_like, random_codes
from unbraid.codes import Codes
from unbraid.metrics.estimators import Exact, Sampled
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.lemma2_gap import Lemma2Gap
from unbraid.metrics.reductions.statistics import Statistics


def test_a_full_grid_holds_isolated_information():
    score = Lemma2Gap(Sampled(num_samples=100))(grid((3, 4, 2)))
    assert score.value == pytest.approx(0, abs=1e-9)


def test_posteriors_equal_to_the_prior_have_no_gap():
    assert Lemma2Gap(Sampled(num_samples=100))(prior_like(10, 3)).value == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("rho", [0.0, 0.6, -0.8])
def test_it_agrees_with_quadrature(rho):
    """I(x, z) - sum_i I(x, z_i), each by quadrature, against entropies averaged over draws."""
    codes = correlated_codes(1, num_images=12, rho=rho)
    exact = Informativeness(Exact())(codes)
    expected = exact.parts["joint"].value - sum(exact.per_latent)
    score = Lemma2Gap(Sampled(num_samples=4000))(codes)
    assert score.interval[0] < expected < score.interval[1]
    assert score.parts["posterior_dependence"].value == pytest.approx(-0.5 * math.log(1 - rho**2), abs=1e-9)


@settings(max_examples=10)
@given(seed=st.integers(0, 100), conditional=st.sampled_from(["analytic", "mc"]), correlated=st.booleans())
def test_it_is_what_is_said_jointly_less_what_is_said_apart(seed, conditional, correlated):
    shared = Statistics(correlated_codes(seed, num_latents=3) if correlated else random_codes(seed))
    score, told = (
        metric(Sampled(num_samples=40), conditional=conditional).of(shared) for metric in (Lemma2Gap, Informativeness)
    )
    assert score.value == pytest.approx(told.value - sum(told.per_latent), abs=1e-9)
    assert score.value == pytest.approx(sum(part.value for part in score.parts.values()), abs=1e-9)


def test_uncorrelated_posteriors_leave_minus_the_total_correlation():
    score = Lemma2Gap(Sampled(num_samples=50))(random_codes(0))
    assert score.parts["posterior_dependence"].value == pytest.approx(0, abs=1e-12)
    assert score.value == pytest.approx(score.parts["minus_total_correlation"].value)


def test_a_shared_noise_may_cancel_a_shared_signal():
    """Equal correlated posteriors: both parts are as large as the correlation, and the gap is 0."""
    covariance = torch.tensor([[1.0, 0.9], [0.9, 1.0]], dtype=torch.float64).expand(5, 2, 2)
    score = Lemma2Gap(Sampled(num_samples=500), conditional="mc")(
        Codes(torch.zeros(5, 2, dtype=torch.float64), covariance=covariance)
    )
    assert score.value == pytest.approx(0, abs=1e-9)
    assert score.parts["posterior_dependence"].value > 0.5
