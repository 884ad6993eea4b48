"""SEPIN: known answers, its identity with INDIN, and the floors of the authors' code."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import MultivariateNormal

from tests.metrics.latent_codes import correlated_codes, grid, latents, prior_like, random_codes, rows, with_noise
from unbraid.codes import Codes
from unbraid.errors import CodesError, SpecError
from unbraid.information.posteriors import Draws
from unbraid.metrics.estimators import Quantized, Sampled
from unbraid.metrics.indin import INDIN
from unbraid.metrics.informativeness import Informativeness
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sepin import SEPIN


def by_hand(codes, draws):
    """I(x, z_S) on the draws, for a set of latents S: log q(z_S | own image) - log mean_n q(z_S | n), one Gaussian at a
    time.
    """

    def information(members):
        total = 0.0
        for z, own in zip(draws.z.tolist(), draws.image.tolist(), strict=True):
            densities = []
            for mean, std in zip(codes.mean.tolist(), codes.std.tolist(), strict=True):
                logs = [
                    -0.5 * ((z[i] - mean[i]) / std[i]) ** 2 - math.log(std[i] * math.sqrt(2 * math.pi)) for i in members
                ]
                densities.append(math.exp(sum(logs)))
            total += math.log(densities[own]) - math.log(sum(densities) / len(densities))
        return total / len(draws)

    return information


# Known answers


def test_it_is_the_slow_loop():
    codes = random_codes(0, num_images=8)
    generator = torch.Generator().manual_seed(0)
    image = torch.randint(0, 8, (12,), generator=generator)
    draws = Draws.of(
        codes.mean[image] + codes.std[image] * torch.randn(12, 3, dtype=torch.float64, generator=generator), image
    )
    score, information = SEPIN(conditional="mc").of(Statistics(codes, draws=draws)), by_hand(codes, draws)
    expected = [information([0, 1, 2]) - information([j for j in range(3) if j != i]) for i in range(3)]
    assert score.per_latent == pytest.approx(expected, abs=1e-9)
    each = [max(0.0, information([i])) for i in range(3)]
    assert score.value == pytest.approx(sum(e * s for e, s in zip(each, expected, strict=True)) / sum(each), abs=1e-9)
    assert score.parts["SEPIN@2"].value == pytest.approx(sum(sorted(expected)[1:]) / 2, abs=1e-9)


def test_latents_that_share_nothing_keep_all_their_information():
    """A grid with narrow posteriors: SEPIN_i = I(x, z_i) = log of the number of values."""
    score = SEPIN(Sampled(num_samples=200), conditional="mc")(grid((4, 5), std=0.01))
    assert score.per_latent == pytest.approx([math.log(4), math.log(5)], abs=1e-9)


def test_a_copied_latent_says_nothing_of_its_own():
    """With narrow posteriors far apart, either copy tells the image; what one adds to the other is nothing."""
    score = SEPIN(Sampled(num_samples=200), conditional="mc")(latents(grid((4,), std=0.01), [0, 0]))
    assert score.value == pytest.approx(0, abs=1e-9)


def test_posteriors_equal_to_the_prior_score_zero():
    score = SEPIN(Sampled(num_samples=200), conditional="mc")(prior_like(20, 3))
    assert score.value == 0
    assert score.per_latent == pytest.approx([0, 0, 0], abs=1e-12)
    assert score.tables["shares"].sum() in (0.0, pytest.approx(1.0))


def test_all_shares_are_zero_where_nothing_is_said():
    """Draws that say less than nothing of each latent: rho has no sum to divide by."""
    codes = random_codes(0)
    draws = Draws.of(codes.mean + 5 * codes.std, torch.arange(30))  # far out in the own posterior
    score = SEPIN(conditional="mc").of(Statistics(codes, draws=draws))
    assert all(told < 0 for told in score.tables["informativeness"].tolist())
    assert score.value == 0
    assert score.tables["shares"].tolist() == [0, 0, 0]


def test_it_can_be_divided_by_the_entropy_in_bins():
    codes = random_codes(1)
    shared = Statistics(codes)
    plain, divided = (SEPIN(Sampled(num_samples=100), normalize_bins=bins).of(shared) for bins in (None, 100))
    entropy = Informativeness(Quantized()).of(shared).tables["latent_entropy"]
    assert divided.per_latent == pytest.approx((torch.tensor(plain.per_latent) / entropy).tolist())
    assert divided.value != plain.value


# Laws


@given(seed=st.integers(0, 100), num_latents=st.integers(1, 4), conditional=st.sampled_from(["analytic", "mc"]))
def test_it_equals_indin_where_latents_are_independent_given_the_image(seed, num_latents, conditional):
    """Draw by draw, clipped nowhere (spec decision 9): no tolerance but rounding."""
    shared = Statistics(random_codes(seed, num_latents=num_latents))
    sepin, indin = (metric(Sampled(num_samples=40), conditional=conditional).of(shared) for metric in (SEPIN, INDIN))
    assert sepin.per_latent == pytest.approx(indin.per_latent, abs=1e-10)
    assert sepin.value == pytest.approx(indin.value, abs=1e-10)


def test_clipping_as_the_authors_do_breaks_the_identity():
    """Regression for their clipping of I(x, z_i), I(x, z), I(x, z_not_i) and I(z_i, z_not_i) at 0: with noisy estimates
    SEPIN and INDIN part.
    """
    faint = torch.randn(30, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) / 20
    codes = Codes(
        torch.cat([random_codes(3).mean, faint], dim=1),
        torch.cat([random_codes(3).std, torch.ones(30, 3)], dim=1).double(),
    )
    parted = 0
    for seed in range(6):
        shared = Statistics(codes)
        clipped = [
            metric(Sampled(num_samples=20, seed=seed), conditional="mc", density_floor=1e-300).of(shared).per_latent
            for metric in (SEPIN, INDIN)
        ]
        ours = [
            metric(Sampled(num_samples=20, seed=seed), conditional="mc").of(shared).per_latent
            for metric in (SEPIN, INDIN)
        ]
        assert ours[0] == pytest.approx(ours[1], abs=1e-10)
        parted += clipped[0] != pytest.approx(clipped[1], abs=1e-10)
    assert parted > 0


def test_it_exceeds_indin_by_what_latents_share_given_the_image():
    """I(z_1, z_2 | x) = -1/2 log(1 - rho^2)."""
    shared = Statistics(correlated_codes(0, rho=0.6))
    sepin, indin = (metric(Sampled(num_samples=50)).of(shared) for metric in (SEPIN, INDIN))
    expected = -0.5 * math.log(1 - 0.6**2)
    assert [a - b for a, b in zip(sepin.per_latent, indin.per_latent, strict=True)] == pytest.approx(
        [expected] * 2, abs=1e-9
    )


@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_it_is_the_conditional_entropy_of_a_plane_integral(rho):
    """Lemma 1: I(x, z_i | z_j) = H(z_i | z_j) - H(z_i | z_j, x); the first from sums over a grid, the second in closed
    form.
    """
    codes = correlated_codes(0, num_images=8, rho=rho)
    std = codes.covariance.diagonal(dim1=1, dim2=2).sqrt()
    # Sums over equally spaced points converge exponentially: a step of half the narrowest std and 8 stds to each side
    # leave no error to speak of.
    fine = math.sqrt(1 - rho**2) / 2
    axes = [torch.arange(float((m - 8 * s).min()), float((m + 8 * s).max()), float(s.min()) * fine).double()
            for m, s in zip(codes.mean.T, std.T, strict=True)]  # fmt: skip
    points, area = torch.cartesian_prod(*axes)[:, None], float(axes[0].diff()[0] * axes[1].diff()[0])
    density = (
        MultivariateNormal(codes.mean, codes.covariance)
        .log_prob(points)
        .exp()
        .mean(dim=1)
        .unflatten(0, (len(axes[0]), -1))
    )
    joint = -torch.xlogy(density, density).sum() * area
    expected = []
    for i in range(2):
        step = float(axes[i].diff()[0])
        other = density.sum(dim=i) * step
        of_other = -torch.xlogy(other, other).sum() * area / step
        given_both = (std[:, i] * math.sqrt((1 - rho**2) * 2 * math.pi * math.e)).log().mean()
        expected.append(float(joint - of_other - given_both))
    found = SEPIN(Sampled(num_samples=20_000))(codes).per_latent
    # A log density ratio varies by about 1, so 20,000 draws err by 0.007; four times that.
    assert found == pytest.approx(expected, abs=0.03)


@settings(max_examples=10)
@given(seed=st.integers(0, 100), order=st.permutations(range(3)))
def test_score_ignores_the_order_of_latents_and_images(seed, order):
    codes = random_codes(seed)
    z = codes.mean + codes.std * torch.randn(30, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    index = torch.randperm(30, generator=torch.Generator().manual_seed(seed))
    moved = rows(latents(codes, order), index)
    found = SEPIN().of(Statistics(moved, draws=Draws.of(z[index][:, order], torch.arange(30))))
    expected = SEPIN().of(Statistics(codes, draws=Draws.of(z, torch.arange(30))))
    assert found.value == pytest.approx(expected.value, abs=1e-9)


def test_sepin_at_all_is_the_mean_and_at_one_the_largest():
    score = SEPIN(Sampled(num_samples=50))(random_codes(0))
    assert score.parts["SEPIN@1"].value == pytest.approx(max(score.per_latent))
    assert score.parts["SEPIN@3"].value == pytest.approx(sum(score.per_latent) / 3)


def test_settings_of_a_score_say_that_draws_were_given():
    codes = random_codes(0)
    given = (
        SEPIN(Sampled(num_samples=50, seed=3))
        .of(Statistics(codes, draws=Draws.of(codes.mean, torch.arange(30))))
        .settings
    )
    assert (given["num_samples"], given["seed"]) == (30, None)
    own = SEPIN(Sampled(num_samples=50, seed=3))(codes).settings
    assert (own["num_samples"], own["seed"]) == (50, 3)


# The flaw behind Fig. 19 of Do & Tran


def with_noise_and_draws(num_noise):
    """5 informative latents and some prior-like ones, with the same draws of the former whatever the number of the
    latter.
    """
    codes = with_noise(random_codes(0, num_images=200, num_latents=5), num_noise)
    generator = torch.Generator().manual_seed(0)
    noise = torch.cat(
        [torch.randn(200, 1, dtype=torch.float64, generator=generator) for _ in range(5 + num_noise)], dim=1
    )
    return Statistics(codes, draws=Draws.of(codes.mean + codes.std * noise, torch.arange(200)))


def test_latents_that_say_nothing_change_nothing_up_to_twenty():
    """I(x, z) and WSEPIN of 5 informative latents with 0 to 15 prior-like ones."""
    for metric in (Informativeness(conditional="mc"), Informativeness(), SEPIN(conditional="mc")):
        values = [metric.of(with_noise_and_draws(num)).value for num in (0, 5, 10, 15)]
        # The closed form of H(z | x) does not know how the draws fell, so the noise of the added latents stays in.
        assert values == pytest.approx([values[0]] * 4, abs=1e-9 if metric.conditional == "mc" else 0.3)


def test_floors_of_the_authors_code_make_the_information_vanish():
    """Regression for the floor of 1e-8 on densities: the same codes and draws lose most of I(x, z) at 20 latents."""
    metric = Informativeness(conditional="mc", density_floor=1e-8)
    values = [metric.of(with_noise_and_draws(num)).value for num in (0, 5, 10, 15)]
    plain = Informativeness(conditional="mc").of(with_noise_and_draws(0)).value
    assert values[0] == pytest.approx(plain, abs=0.01)
    assert values[2] < 0.98 * plain
    assert values[3] < 0.4 * plain


# Refusals


def test_a_floor_needs_the_authors_conditional():
    with pytest.raises(SpecError, match="SEPIN: conditional is 'analytic'"):
        SEPIN(density_floor=1e-8)


@pytest.mark.parametrize("floor", [0.0, -1.0, math.inf])
def test_a_floor_is_above_zero(floor):
    with pytest.raises(SpecError, match="SEPIN: density_floor is"):
        SEPIN(conditional="mc", density_floor=floor)


def test_a_floor_refuses_correlated_posteriors():
    with pytest.raises(CodesError, match="correlated posteriors"):
        SEPIN(conditional="mc", density_floor=1e-8)(correlated_codes(0))
