"""Latents read through bins: masses, laws of information, and the author-compatible mode."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unbraid.errors import CodesError, SpecError
from unbraid.information import quantized
from unbraid.information.exact import exact_information
from unbraid.information.latent_information import entropy
from unbraid.information.quantized import Bins, quantize, quantize_draws, quantized_information, quantized_statistics
from unbraid.information.value_table import ValueTable

MODES = ("erf_edge", "erf_renorm", "rectangle")


def column(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def random_codes(seed, num_images=30, num_latents=3):
    generator = torch.Generator().manual_seed(seed)
    mean = 2 * torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator)
    std = torch.exp(torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator) - 1)
    labels = tuple(torch.randint(0, size, (num_images,), generator=generator) for size in (2, 5))
    return mean, std, ValueTable.from_assignments(labels, num_images)


# Masses


def test_masses_are_those_of_the_normal_distribution():
    edges = [-4, -2, 0, 2, 4]
    masses = quantize(column(0.3), column(0.7), Bins(4))[0, 0]
    expected = torch.tensor(stats.norm(0.3, 0.7).cdf(edges)).diff()
    expected[0] += stats.norm(0.3, 0.7).cdf(-4)
    expected[-1] += stats.norm(0.3, 0.7).sf(4)
    torch.testing.assert_close(masses, expected)


def test_tails_join_the_edge_bins_or_are_dropped():
    edge = quantize(column(5.0), column(1.0), Bins(8))[0, 0]
    renormalized = quantize(column(5.0), column(1.0), Bins(8, masses="erf_renorm"))[0, 0]
    assert float(edge[-1]) == pytest.approx(stats.norm.sf(-2))
    assert float(renormalized[-1]) == pytest.approx((stats.norm.cdf(-1) - stats.norm.cdf(-2)) / stats.norm.cdf(-1))


def test_rectangles_are_densities_at_the_centers():
    masses = quantize(column(0.3), column(0.7), Bins(4, masses="rectangle"))[0, 0]
    density = torch.tensor(stats.norm(0.3, 0.7).pdf([-3, -1, 1, 3]))
    torch.testing.assert_close(masses, density / density.sum())


def test_rectangles_below_the_floor_become_one_hot():
    # Halfway between two centers, 40 stds from either: the density is 0 at both, and the mean decides.
    masses = quantize(column(0.0, 9.0), column(1e-3, 1e-3), Bins(100, masses="rectangle"))[:, 0]
    assert masses[0].argmax() == 50
    assert masses[1].argmax() == 99
    assert bool((masses.amax(dim=1) == 1).all())


@pytest.mark.parametrize("masses", MODES)
def test_a_std_of_zero_puts_all_mass_in_the_bin_of_the_mean(masses):
    mean = column(-9.0, -4.0, -1.0, 0.0, 3.999, 4.0, 9.0)  # bins are closed on the left
    found = quantize(mean, torch.zeros_like(mean), Bins(8, masses=masses))[:, 0]
    assert found.argmax(dim=1).tolist() == [0, 0, 3, 4, 7, 7, 7]
    torch.testing.assert_close(found.amax(dim=1), torch.ones(7, dtype=torch.float64))


@pytest.mark.parametrize("masses", MODES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_subnormal_std_puts_all_mass_in_the_bin_of_the_mean(masses, dtype):
    mean = column(-4.0, -1.0, 0.0, 0.5, 3.0)  # on edges and, of the fourth, at a center
    std = torch.full_like(mean, 1e-40 if dtype == torch.float32 else 1e-310)
    found = quantize(mean, std, Bins(8, masses=masses), dtype)[:, 0]
    assert found.argmax(dim=1).tolist() == [0, 3, 4, 4, 7]
    assert found.amax(dim=1).tolist() == [1.0] * 5


@given(mean=st.floats(-60, 60), std=st.floats(0, 50), masses=st.sampled_from(MODES), num_bins=st.integers(1, 40))
def test_rows_are_distributions_for_any_posterior(mean, std, masses, num_bins):
    found = quantize(column(mean), column(std), Bins(num_bins, masses=masses))
    assert bool((found >= 0).all())
    assert float(found.sum()) == pytest.approx(1)


def test_masses_on_both_sides_of_the_mean_keep_their_digits():
    masses = quantize(column(0.0), column(0.5), Bins(16))[0, 0]
    torch.testing.assert_close(masses, masses.flip(0), rtol=1e-12, atol=0)


def test_draws_fill_bins_by_their_shares():
    """Draw by image by latent, and never another way round: two images, one latent, four draws."""
    samples = torch.tensor([[[-3.0], [0.5]], [[-3.5], [0.5]], [[3.0], [9.0]], [[-9.0], [0.0]]])
    found = quantize_draws(samples, Bins(4))
    torch.testing.assert_close(found, torch.tensor([[[0.75, 0.0, 0.0, 0.25]], [[0.0, 0.0, 0.75, 0.25]]]).double())


def test_many_draws_approach_the_masses_of_their_posterior():
    noise = torch.randn(40_000, 1, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mean, std = torch.tensor([[0.3, -1.0]]).double(), torch.tensor([[0.7, 0.2]]).double()
    # The standard error of a share of 40,000 is at most 0.0025.
    torch.testing.assert_close(
        quantize_draws(mean + std * noise, Bins(8)), quantize(mean, std, Bins(8)), atol=0.01, rtol=0
    )


@pytest.mark.parametrize("masses", ["erf_edge", "rectangle"])
def test_float32_masses_are_those_of_float64(masses):
    mean, std, _ = random_codes(0)
    # An edge 4 / 0.05 stds away is rounded by 80 * 6e-8 stds.
    single = quantize(mean, std, Bins(100, masses=masses), torch.float32)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single.double(), quantize(mean, std, Bins(100, masses=masses)), atol=5e-6, rtol=0)


# Statistics


def test_blocks_of_images_add_up_to_the_whole(monkeypatch):
    mean, std, values = random_codes(0)
    whole = quantized_statistics(mean, std, values, Bins(10))
    monkeypatch.setattr(quantized, "_BLOCK_MASSES", {"cpu": 70})
    blocks = quantized_statistics(mean, std, values, Bins(10))
    torch.testing.assert_close(blocks.marginal, whole.marginal)
    torch.testing.assert_close(blocks.joints, whole.joints)
    torch.testing.assert_close(blocks.entropy_given_image, whole.entropy_given_image)


@pytest.mark.parametrize("masses", MODES)
def test_large_problems_in_float32_move_an_information_by_less_than_1e_6(monkeypatch, masses):
    mean, std, values = random_codes(5, num_images=200)
    double = quantized_information(mean, std, values, Bins(masses=masses))
    monkeypatch.setattr(quantized, "MAX_FLOAT64_MASSES", 0)
    single = quantized_information(mean, std, values, Bins(masses=masses))
    # A posterior whose tail alone is in range is scaled up, rounding and all: that mode stays float64.
    assert torch.equal(single.entropy, double.entropy) == (masses == "erf_renorm")
    torch.testing.assert_close(single.mutual_information, double.mutual_information, atol=1e-6, rtol=0)
    torch.testing.assert_close(single.informativeness, double.informativeness, atol=2e-6, rtol=0)


def test_deterministic_means_on_edges_stay_in_their_bins_in_float32(monkeypatch):
    """A mean on an edge belongs to the bin above. Rounded to float32 it may fall below, and two values would share a
    bin.
    """
    monkeypatch.setattr(quantized, "MAX_FLOAT64_MASSES", 0)
    mean = Bins(100).edges()[:-1, None]
    found = quantized_information(mean, torch.zeros_like(mean), ValueTable.from_assignments((torch.arange(100),), 100))
    assert float(found.entropy) == pytest.approx(math.log(100), abs=1e-6)  # sums of a hundred float32 masses
    assert float(found.mutual_information) == pytest.approx(math.log(100), abs=1e-6)


def test_statistics_are_means_over_images():
    mean, std, values = random_codes(1)
    masses = quantize(mean, std, Bins(10))
    found = quantized_statistics(mean, std, values, Bins(10))
    torch.testing.assert_close(found.marginal, masses.mean(dim=0))
    torch.testing.assert_close(found.entropy_given_image, entropy(masses).mean(dim=0))
    labels = values.assignments[1]
    for value in range(5):
        torch.testing.assert_close(found.joints[1][:, :, value], masses[labels == value].sum(dim=0) / 30)


# Closed forms of information


def test_equal_posteriors_say_nothing():
    information = quantized_information(
        torch.full((6, 1), 0.2), torch.full((6, 1), 0.9), ValueTable.from_assignments((torch.arange(6) % 2,), 6)
    )
    assert float(information.mutual_information) == pytest.approx(0, abs=1e-12)
    assert float(information.informativeness) == pytest.approx(0, abs=1e-12)


def test_two_separate_posteriors_say_one_bit():
    information = quantized_information(
        column(-2, 2), column(0.1, 0.1), ValueTable.from_assignments((torch.tensor([0, 1]),), 2)
    )
    assert float(information.informativeness) == pytest.approx(math.log(2))
    assert float(information.mutual_information) == pytest.approx(math.log(2))


def test_deterministic_codes_have_the_discrete_information_of_their_bins():
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    information = quantized_information(
        column(-3, -3, 0, 0, 0, 3), torch.zeros(6, 1), ValueTable.from_assignments((labels,), 6), Bins(3)
    )
    assert float(information.entropy_given_image) == 0
    joint = torch.zeros(3, 3, dtype=torch.float64)
    for b, v in ((0, 0), (0, 0), (1, 1), (1, 1), (1, 2), (2, 2)):
        joint[b, v] += 1 / 6
    expected = entropy(joint.sum(1)) + entropy(joint.sum(0)) - entropy(joint.flatten())
    torch.testing.assert_close(information.mutual_information[0, 0], expected)


# Laws of information


@given(seed=st.integers(0, 500), masses=st.sampled_from(MODES), num_bins=st.integers(2, 60))
def test_information_is_bounded_by_every_entropy(seed, masses, num_bins):
    mean, std, values = random_codes(seed)
    found = quantized_information(mean, std, values, Bins(num_bins, masses=masses))
    bound = torch.minimum(torch.minimum(found.entropy, found.informativeness)[:, None], found.factor_entropy)
    assert bool((found.mutual_information >= -1e-12).all())
    assert bool((found.mutual_information <= bound + 1e-12).all())
    assert bool((found.informativeness >= -1e-12).all())
    assert bool((found.informativeness <= min(math.log(30), math.log(num_bins)) + 1e-12).all())
    torch.testing.assert_close(
        found.joint_entropy, found.entropy[:, None] + found.factor_entropy - found.mutual_information
    )


@given(seed=st.integers(0, 200))
def test_bins_cannot_add_information(seed):
    """Data processing: 20 bins say at most what 100 say, and those at most what the latent itself says."""
    mean, std, values = random_codes(seed, num_images=12)
    coarse, fine = (quantized_information(mean, std, values, Bins(n)).mutual_information for n in (20, 100))
    exact = exact_information(mean, std, values).mutual_information
    assert bool((coarse <= fine + 1e-12).all())
    assert bool((fine <= exact + 1e-9).all())


def test_narrow_bins_approach_the_differential_entropy():
    mean, std, values = random_codes(3)
    mean, std = mean / 3, std.clamp(0.3, 0.6)  # no mass beyond the range
    found, exact = quantized_information(mean, std, values, Bins(4000)), exact_information(mean, std, values)
    # The error of a width w is w^2 / 24 times the Fisher information, about 1e-6.
    torch.testing.assert_close(found.entropy + math.log(8 / 4000), exact.entropy, atol=1e-5, rtol=0)
    torch.testing.assert_close(found.mutual_information, exact.mutual_information, atol=1e-5, rtol=0)


def test_the_error_of_the_differential_entropy_falls_with_the_square_of_the_width():
    """H_q + log w = h + w^2 / 24 J + O(w^4), J the Fisher information of the density: a quarter of the error for half
    the width.
    """
    mean, std, values = random_codes(3)
    mean, std = mean / 4, std.clamp(0.2, 0.35)  # the edges are 7 stds away
    exact = exact_information(mean, std, values).entropy
    errors = torch.stack(
        [
            quantized_information(mean, std, values, Bins(n)).entropy + math.log(8 / n) - exact
            for n in (500, 1000, 2000, 4000)
        ]
    )
    assert bool((errors > 0).all())
    # The quadrature is good to 1e-8, the least error is about 1e-6: a ratio is off by 2 % at most.
    torch.testing.assert_close(errors[:-1] / errors[1:], torch.full_like(errors[1:], 4), rtol=0.02, atol=0)


def test_float32_codes_give_the_same_information():
    mean, std, values = random_codes(4)
    single, double = quantized_information(mean.float(), std.float(), values), quantized_information(mean, std, values)
    torch.testing.assert_close(single.mutual_information, double.mutual_information, atol=2e-4, rtol=0)


# Errors


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"num_bins": 0}, "num_bins is 0"), ({"low": 4.0}, "low < high"), ({"high": math.inf}, "finite")],
)
def test_impossible_bins_are_refused(settings, message):
    with pytest.raises(SpecError, match=message):
        Bins(**settings)


def test_negative_stds_are_refused():
    with pytest.raises(CodesError, match="log_var"):
        quantized_information(column(0.0), column(-1.0), ValueTable.from_assignments((), 1))


def test_a_range_wider_than_the_numbers_is_refused():
    with pytest.raises(SpecError, match="finite difference"):
        Bins(10, -1.7e308, 1.7e308)


def test_a_block_of_images_is_small_however_many_values_a_factor_has(monkeypatch):
    taken = []
    columns = ValueTable.columns
    monkeypatch.setattr(ValueTable, "columns", lambda self, rows: taken.append(len(rows)) or columns(self, rows))
    values = ValueTable.from_assignments((torch.arange(5_000),), 5_000)
    quantized_statistics(torch.zeros(5_000, 1), torch.ones(5_000, 1), values, Bins(10))
    assert sum(taken) == 5_000
    assert max(taken) * values.num_columns <= 16_000_000


def test_sums_that_would_not_fit_are_refused_with_their_size():
    values = ValueTable.from_assignments((torch.arange(20_000),), 20_000)
    mean = torch.zeros(20_000, 1).expand(-1, 100)
    with pytest.raises(CodesError, match="1.6 GB"):
        quantized_statistics(mean, mean + 1, values, Bins(100))
