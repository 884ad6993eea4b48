"""Informativeness: closed forms for each estimator, bounds, and agreement between them."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.metrics.latent_codes import correlated_codes, grid, latents, prior_like, random_codes, rows
from unbraid.codes import Codes, Labels
from unbraid.errors import CodesError, SpecError
from unbraid.information.posteriors import Draws
from unbraid.metrics.estimators import Exact, Neighbors, Quantized, Sampled
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.reductions.statistics import Statistics

# Known answers


@pytest.mark.parametrize("estimator", [Sampled(100), Exact()])
def test_two_images_far_apart_are_one_bit_of_log_two(estimator):
    codes = Codes(torch.tensor([[0.0], [50.0]], dtype=torch.float64), torch.ones(2, 1, dtype=torch.float64))
    score = Informativeness(estimator, conditional="mc")(codes)
    assert score.value == pytest.approx(math.log(2), abs=1e-9)
    assert score.per_latent == pytest.approx([math.log(2)], abs=1e-9)


def test_dense_gaussian_means_follow_the_channel_formula():
    """Means ~ N(0, t^2) read with noise s: I = 1/2 log(1 + t^2 / s^2)."""
    quantiles = torch.special.ndtri((torch.arange(4000, dtype=torch.float64) + 0.5) / 4000)[:, None]
    codes = Codes(2.0 * quantiles, torch.full((4000, 1), 0.5, dtype=torch.float64))
    expected = 0.5 * math.log(1 + 16)
    assert Informativeness(Exact())(codes).value == pytest.approx(expected, abs=1e-3)
    sampled = Informativeness(Sampled(num_samples=2000), conditional="mc")(codes)
    assert sampled.interval[0] < expected < sampled.interval[1]


@pytest.mark.parametrize("estimator", [Sampled(100), Exact(), Quantized()])
def test_posteriors_equal_to_the_prior_say_nothing(estimator):
    score = Informativeness(estimator, conditional="mc")(prior_like(20, 2))
    assert score.value == pytest.approx(0, abs=1e-9)
    assert score.per_latent == pytest.approx([0, 0], abs=1e-9)


def test_deterministic_codes_are_read_in_bins():
    score = Informativeness(Quantized(num_bins=100))(grid((4, 3), std=0.0))
    assert score.per_latent == pytest.approx([math.log(4) / math.log(100), math.log(3) / math.log(100)])
    assert score.value == pytest.approx(math.log(12) / 2 / math.log(100))
    assert score.tables["informativeness"].tolist() == pytest.approx([math.log(4), math.log(3)])
    assert score.tables["share_of_entropy"].tolist() == pytest.approx([1, 1])


def test_a_silent_latent_has_no_share_of_an_entropy_of_zero():
    codes = Codes(torch.zeros(5, 1, dtype=torch.float64), torch.zeros(5, 1, dtype=torch.float64))
    assert Informativeness(Quantized())(codes).tables["share_of_entropy"].tolist() == [0]


def test_two_latents_are_integrated_jointly():
    """Exact against sampled, and less than the sum where latents share."""
    codes = random_codes(0, num_latents=2)
    exact, sampled = (
        Informativeness(Exact())(codes),
        Informativeness(Sampled(num_samples=3000), conditional="mc")(codes),
    )
    assert sampled.interval[0] < exact.parts["joint"].value < sampled.interval[1]
    assert exact.parts["joint"].interval is not None
    assert exact.value == pytest.approx(sum(exact.per_latent) / 2)
    assert exact.parts["joint"].value < sum(exact.per_latent)


def test_a_correlated_posterior_is_integrated_as_it_is():
    codes = correlated_codes(0, num_images=12)
    exact, sampled = (
        Informativeness(Exact())(codes),
        Informativeness(Sampled(num_samples=4000), conditional="mc")(codes),
    )
    assert sampled.interval[0] < exact.parts["joint"].value < sampled.interval[1]


def test_the_exact_estimator_says_what_its_value_is():
    assert "instead of I(x, z)" in Informativeness(Exact())(random_codes(0)).notes[0]
    assert "joint" not in Informativeness(Exact())(random_codes(0)).parts
    assert (
        Informativeness(Exact())(random_codes(0, num_latents=1)).parts["joint"].value
        == Informativeness(Exact())(random_codes(0, num_latents=1)).value
    )


def test_groups_are_parts():
    """The group of all latents says I(x, z); a group of one what the latent says."""
    codes = dataclasses.replace(random_codes(0), groups=((0, 2), (1,)))
    for conditional in ("analytic", "mc"):
        score = Informativeness(Sampled(num_samples=60), conditional=conditional)(codes)
        assert score.parts["group_1"].value == pytest.approx(score.per_latent[1], abs=1e-10)
        assert score.parts["group_0"].value <= score.value + 1e-9 or conditional == "analytic"


def test_groups_of_correlated_latents_use_their_covariance():
    codes = correlated_codes(0, num_latents=3)
    whole = Informativeness(Sampled(num_samples=60))(dataclasses.replace(codes, groups=((0, 1, 2),)))
    assert whole.parts["group_0"].value == pytest.approx(whole.value, abs=1e-9)


def test_a_discrete_latent_counts_by_its_categories():
    table = torch.eye(4, dtype=torch.float64).repeat(5, 1)
    codes = Codes(
        torch.zeros(20, 1, dtype=torch.float64), torch.ones(20, 1, dtype=torch.float64), probabilities=(table,)
    )
    assert Informativeness(Quantized())(codes).per_latent == pytest.approx([0, 1], abs=1e-9)
    assert Informativeness(Exact())(codes).per_latent == pytest.approx([0, math.log(4)], abs=1e-9)
    assert Informativeness(Sampled(num_samples=40), conditional="mc")(codes).value == pytest.approx(
        math.log(4), abs=1e-9
    )


def test_draws_without_densities_are_counted_in_bins():
    samples = torch.tensor([0.0, 2.0], dtype=torch.float64).repeat(10)[None, :, None].expand(3, 20, 1)
    codes = Codes(samples.mean(dim=0), samples=samples)
    assert Informativeness(Quantized())(codes).tables["informativeness"].tolist() == pytest.approx([math.log(2)])


# Laws


@given(seed=st.integers(0, 100), num_bins=st.integers(2, 60))
def test_quantized_information_is_within_its_bounds(seed, num_bins):
    """0 <= I(x, z_i) <= log N and log B; and bins lose, never add: no more than the exact value."""
    codes = random_codes(seed)
    score = Informativeness(Quantized(num_bins=num_bins))(codes)
    told = score.tables["informativeness"]
    assert bool((told >= -1e-12).all())
    assert bool((told <= min(math.log(30), math.log(num_bins)) + 1e-12).all())
    assert bool((told <= torch.tensor(Informativeness(Exact())(codes).per_latent, dtype=torch.float64) + 1e-7).all())


@given(seed=st.integers(0, 100))
def test_on_the_same_draws_it_never_exceeds_log_n(seed):
    """The own image is one of the mixture."""
    assert Informativeness(Sampled(num_samples=20), conditional="mc")(random_codes(seed)).value <= math.log(30) + 1e-12


@settings(max_examples=5)
@given(seed=st.integers(0, 100))
def test_finer_bins_never_say_less(seed):
    codes = random_codes(seed)
    coarse, fine = (Informativeness(Quantized(num_bins=num))(codes).tables["informativeness"] for num in (20, 100))
    assert bool((coarse <= fine + 1e-12).all())


@settings(max_examples=6)
@given(seed=st.integers(0, 100), estimator=st.sampled_from([Quantized(), Exact()]), order=st.permutations(range(3)))
def test_score_ignores_order_and_sign_of_latents_and_order_and_repetition_of_images(seed, estimator, order):
    """Bins are symmetric, and no random mean lies on an edge."""
    codes = random_codes(seed)
    index = torch.randperm(30, generator=torch.Generator().manual_seed(seed)).repeat(2)
    moved = rows(latents(dataclasses.replace(codes, mean=codes.mean * torch.tensor([1.0, -1.0, 1.0])), order), index)
    ours, theirs = Informativeness(estimator)(codes), Informativeness(estimator)(moved)
    assert theirs.value == pytest.approx(ours.value, abs=1e-9)
    assert theirs.per_latent == pytest.approx([ours.per_latent[i] for i in order], abs=1e-9)


@settings(max_examples=6)
@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_on_the_same_draws_it_ignores_order_and_sign_of_latents_and_order_of_images(seed, order):
    codes, sign = random_codes(seed), torch.tensor([1.0, -1.0, 1.0])
    generator = torch.Generator().manual_seed(seed)
    z = codes.mean + codes.std * torch.randn(30, 3, dtype=torch.float64, generator=generator)
    index = torch.randperm(30, generator=generator)
    moved = rows(latents(dataclasses.replace(codes, mean=codes.mean * sign), order), index)
    ours = Informativeness().of(Statistics(codes, draws=Draws.of(z, torch.arange(30))))
    theirs = Informativeness().of(Statistics(moved, draws=Draws.of((z * sign)[index][:, order], torch.arange(30))))
    assert theirs.value == pytest.approx(ours.value, abs=1e-9)
    assert theirs.per_latent == pytest.approx([ours.per_latent[i] for i in order], abs=1e-9)


def test_few_bins_are_not_settled_and_many_are():
    codes = grid((40, 2), std=0.02)
    scattered = dataclasses.replace(codes, mean=codes.mean / 10 - 2)
    coarse = Informativeness(Quantized(num_bins=4))(scattered)
    assert coarse.settled is False
    assert "8 bins" in coarse.notes[0]
    # Sharp latents that every bin tells apart.
    assert Informativeness(Quantized(num_bins=100))(grid((4, 3), std=0.0)).settled is True


def test_settings_of_a_score_are_those_that_mattered():
    codes = random_codes(0)
    assert Informativeness(Exact())(codes).settings == {"estimator": "exact", "quadrature": "direct"}
    assert "num_bins" not in Informativeness(Sampled(num_samples=50))(codes).settings
    assert Informativeness(Quantized())(codes).settings["num_bins"] == 100


@pytest.mark.parametrize("estimator", [Exact(), Quantized()])
def test_labels_are_not_read(estimator):
    codes = random_codes(0)
    labeled = dataclasses.replace(
        codes, factors=(Labels("angle", torch.linspace(0, 1, 30)), Labels("v", torch.arange(30) % 2))
    )
    assert Informativeness(estimator)(labeled).value == pytest.approx(
        Informativeness(estimator)(codes).value, abs=1e-12
    )


# Refusals


def test_densities_of_deterministic_codes_are_refused_with_advice():
    with pytest.raises(CodesError, match="quantized estimator"):
        Informativeness(Exact())(grid(std=0.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": Neighbors()}, "Informativeness: the estimator is Neighbors"),
        ({"estimator": Quantized(), "density_floor": 1e-8}, "Informativeness: density_floor is 1e-08"),
        ({"density_floor": 1e-8}, "Informativeness: conditional is 'analytic'"),
    ],
)
def test_impossible_settings_are_refused(arguments, message):
    with pytest.raises(SpecError, match=message):
        Informativeness(**arguments)
