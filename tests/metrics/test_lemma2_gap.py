"""The gap of Lemma 2: both sides agree, with and without correlated posteriors."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.latent_codes import correlated_codes, grid, prior_like, random_codes
from unbraid.codes import Codes
from unbraid.errors import CodesError, SpecError
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


# Subsets S of the latents, eqs. 3 to 6


def two_bits_and_their_parity():
    """Four equally likely images: two bits and whether they differ, each read off its latent without error."""
    mean = torch.tensor([[0.0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], dtype=torch.float64)
    return Codes(mean, 0.01 * torch.ones_like(mean))


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_any_two_of_two_bits_and_their_parity_are_isolated(pair):
    score = Lemma2Gap(Sampled(num_samples=200), conditional="mc", latents=pair)(two_bits_and_their_parity())
    assert score.value == pytest.approx(0, abs=1e-9)
    assert [score.per_latent[j] for j in pair] == pytest.approx([0, 0], abs=1e-9)
    assert math.isnan(score.per_latent[3 - sum(pair)])
    assert [score.tables["informativeness"][j].item() for j in pair] == pytest.approx([math.log(2)] * 2, abs=1e-9)


def test_all_three_are_not():
    """Each is told by the other two: eqs. 3 and 5 fail by the whole of what a latent says, log 2 nats."""
    score, same = (
        Lemma2Gap(Sampled(num_samples=200), conditional="mc", latents=latents)(two_bits_and_their_parity())
        for latents in ((2, 0, 1), (0, 1, 2))
    )
    assert score.value == pytest.approx(-math.log(2), abs=1e-9)
    assert score.per_latent == pytest.approx([-math.log(2)] * 3, abs=1e-9)
    assert score == same


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_a_pair_among_four_latents_agrees_with_quadrature(rho):
    codes = correlated_codes(2, num_images=12, num_latents=4, rho=rho)
    exact = Informativeness(Exact())(codes.with_latents([1, 3]))
    score = Lemma2Gap(Sampled(num_samples=4000), latents=(1, 3))(codes)
    assert score.interval[0] < exact.parts["joint"].value - sum(exact.per_latent) < score.interval[1]
    assert score.parts["posterior_dependence"].value == pytest.approx(-0.5 * math.log(1 - rho**2), abs=1e-9)
    assert score.per_latent[1] == pytest.approx(score.value, abs=1e-9)


@pytest.mark.parametrize(("latents", "expected"), [(tuple(range(10)), 9.257), ((0, 4, 7), 1.787), ((5,), 0.0)])
def test_the_dependence_of_equally_correlated_noise_is_known(latents, expected):
    """-1/2 log det of k latents with correlation 0.9 is -((k - 1) log 0.1 + log(1 + 0.9 (k - 1))) / 2."""
    score = Lemma2Gap(Sampled(num_samples=20), latents=latents)(correlated_codes(0, num_latents=10, rho=0.9))
    assert score.parts["posterior_dependence"].value == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("conditional", ["analytic", "mc"])
def test_the_left_side_from_other_draws_agrees_with_the_right_one(conditional):
    metric = Lemma2Gap(Sampled(num_samples=2000), conditional=conditional, latents=(0, 2), left_side_seed=1)
    score = metric(correlated_codes(3, num_images=40, num_latents=3))
    low, high = score.parts["difference"].interval
    assert low < 0 < high < 0.5
    assert score.parts["left_side"].value != score.value
    assert score.parts["difference"].value == pytest.approx(score.value - score.parts["left_side"].value)


@settings(max_examples=5)
@given(seed=st.integers(0, 100))
def test_the_left_side_is_informativeness_together_less_apart(seed):
    codes = random_codes(seed, num_latents=3)
    told = Informativeness(Sampled(num_samples=40, seed=9))(codes.with_latents([0, 2]))
    score = Lemma2Gap(Sampled(num_samples=40), latents=(0, 2), left_side_seed=9)(codes)
    assert score.parts["left_side"].value == pytest.approx(told.value - sum(told.per_latent), abs=1e-9)


def test_subsets_that_cannot_be_are_refused():
    with pytest.raises(SpecError, match="latents is"):
        Lemma2Gap(latents=(1, 1))
    with pytest.raises(SpecError, match="left_side_seed is 0"):
        Lemma2Gap(left_side_seed=0)
    with pytest.raises(CodesError, match="0 to 2"):
        Lemma2Gap(Sampled(num_samples=20), latents=(0, 3))(two_bits_and_their_parity())
