"""Information by quadrature: closed forms, an independent slow computation, laws, and the binned method against the
direct one.
"""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from unbraid.errors import CodesError
from unbraid.information import exact
from unbraid.information.exact import exact_information
from unbraid.information.mixture_entropy import entropy_integrals
from unbraid.information.value_table import ValueTable

SIZES = (2, 5)


def column(*values):
    return torch.tensor(values, dtype=torch.float64)[:, None]


def random_codes(seed, num_images=40, num_latents=3, sizes=SIZES):
    """Latents that follow the factors with noise, of all widths."""
    generator = torch.Generator().manual_seed(seed)
    labels = tuple(torch.randint(0, size, (num_images,), generator=generator) for size in sizes)
    mean = torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator) / 2
    for latent in range(num_latents):
        mean[:, latent] += labels[latent % len(sizes)] / sizes[latent % len(sizes)]
    std = torch.exp(torch.randn(num_images, num_latents, dtype=torch.float64, generator=generator) - 1.5)
    return mean, std, labels


def information_by_scipy(mean, std, labels):
    """I(z; v) of one latent as one integral, sum_v f_v log(f_v / (p_v q))."""
    onehot = np.eye(int(labels.max()) + 1)[labels]
    p = onehot.mean(axis=0)

    def integrand(z):
        f = stats.norm.pdf(z, mean, std) @ onehot / len(mean)
        present = f > 0
        return float(f[present] @ np.log(f[present] / (p[present] * f.sum())))

    stops = np.linspace((mean - 9 * std).min(), (mean + 9 * std).max(), 400)
    return sum(integrate.quad(integrand, a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(stops))


# Closed forms


@pytest.mark.parametrize("quadrature", ["direct", "binned"])
def test_equal_posteriors_say_nothing(quadrature):
    found = exact_information(
        torch.full((60, 1), 0.3),
        torch.full((60, 1), 0.7),
        ValueTable.from_assignments((torch.arange(60) % 3,), 60),
        quadrature,
    )
    assert float(found.entropy) == pytest.approx(
        0.5 * math.log(2 * math.pi * math.e * 0.49), abs=1e-6
    )  # 0.7 in float32
    assert float(found.mutual_information) == pytest.approx(0, abs=1e-12)
    assert float(found.informativeness) == pytest.approx(0, abs=1e-6 if quadrature == "binned" else 1e-12)


def test_two_separate_posteriors_say_one_bit():
    found = exact_information(column(-5, 5), column(0.1, 0.2), ValueTable.from_assignments((torch.tensor([0, 1]),), 2))
    assert float(found.informativeness) == pytest.approx(math.log(2), abs=1e-12)
    assert float(found.mutual_information) == pytest.approx(math.log(2), abs=1e-12)


def test_a_gaussian_channel_has_its_capacity():
    """Means that are quantiles of N(0, 2^2), std 0.5: I(x; z) = log(1 + 16) / 2, up to the tails that 20,000 quantiles
    leave out.
    """
    mean = 2 * torch.special.ndtri((torch.arange(20_000, dtype=torch.float64) + 0.5) / 20_000)[:, None]
    found = exact_information(mean, torch.full_like(mean, 0.5), ValueTable.from_assignments((), 20_000))
    assert float(found.informativeness) == pytest.approx(0.5 * math.log(17), abs=1e-4)


def test_a_symmetric_channel_has_the_information_of_its_integral():
    """v = +1 or -1 with std 1: log 2 - E[log(1 + exp(-2 (1 + e)))], e standard normal: 0.33690... nats."""
    expected = math.log(2) - integrate.quad(lambda e: stats.norm.pdf(e) * np.log1p(np.exp(-2 * (1 + e))), -12, 12)[0]
    found = exact_information(column(-1, 1), column(1, 1), ValueTable.from_assignments((torch.tensor([0, 1]),), 2))
    assert float(found.mutual_information) == pytest.approx(expected, abs=1e-9)


def test_it_matches_an_independent_slow_computation():
    mean, std, labels = random_codes(0, num_images=15, num_latents=1)
    found = exact_information(mean, std, ValueTable.from_assignments(labels, 15)).mutual_information[0]
    for k in range(2):
        assert float(found[k]) == pytest.approx(
            information_by_scipy(mean[:, 0].numpy(), std[:, 0].numpy(), labels[k].numpy()), abs=1e-8
        )


# Laws


@given(seed=st.integers(0, 300))
def test_information_is_bounded_by_the_image_and_by_the_factor(seed):
    mean, std, labels = random_codes(seed)
    found = exact_information(mean, std, ValueTable.from_assignments(labels, 40))
    assert bool((found.mutual_information > -1e-9).all())
    assert bool(
        (found.mutual_information < torch.minimum(found.informativeness[:, None], found.factor_entropy) + 1e-9).all()
    )
    assert bool((found.informativeness < math.log(40) + 1e-9).all())


@given(seed=st.integers(0, 300), scale=st.floats(1e-3, 1e3), shift=st.floats(-100, 100))
def test_information_ignores_units(seed, scale, shift):
    mean, std, labels = random_codes(seed)
    values = ValueTable.from_assignments(labels, 40)
    moved = exact_information(scale * mean + shift, scale * std, values)
    here = exact_information(mean, std, values)
    torch.testing.assert_close(moved.mutual_information, here.mutual_information, atol=1e-8, rtol=0)
    torch.testing.assert_close(moved.entropy, here.entropy + math.log(scale), atol=1e-8, rtol=0)


@given(seed=st.integers(0, 300), cut=st.integers(1, 7))
def test_weights_count_like_repetitions(seed, cut):
    mean, std, labels = random_codes(seed)
    counts = 1 + torch.arange(40) % cut
    weighted = exact_information(mean, std, ValueTable.from_assignments(labels, 40, counts.double()))
    rows = torch.arange(40).repeat_interleave(counts)
    repeated = exact_information(
        mean[rows], std[rows], ValueTable.from_assignments(tuple(y[rows] for y in labels), len(rows))
    )
    torch.testing.assert_close(weighted.mutual_information, repeated.mutual_information, atol=1e-9, rtol=0)
    torch.testing.assert_close(weighted.entropy, repeated.entropy, atol=1e-9, rtol=0)


def test_a_latent_does_not_depend_on_its_neighbors():
    # A view in place of a transpose, as in one peer, mixes the latents of an image.
    mean, std, labels = random_codes(5)
    values = ValueTable.from_assignments(labels, 40)
    together = exact_information(mean, std, values)
    for latent in range(3):
        alone = exact_information(mean[:, [latent]], std[:, [latent]], values)
        torch.testing.assert_close(together.mutual_information[latent], alone.mutual_information[0], atol=1e-12, rtol=0)


def test_a_factor_is_scored_on_the_images_where_it_is_known():
    mean, std, labels = random_codes(0)
    known = torch.arange(40) % 3 > 0
    partly = exact_information(
        mean, std, ValueTable.from_assignments((torch.where(known, labels[1], -1), labels[0]), 40)
    )
    only = exact_information(
        mean[known], std[known], ValueTable.from_assignments((labels[1][known],), int(known.sum()))
    )
    torch.testing.assert_close(partly.mutual_information[:, 0], only.mutual_information[:, 0], atol=1e-9, rtol=0)
    torch.testing.assert_close(partly.joint_entropy[:, 0], only.joint_entropy[:, 0], atol=1e-9, rtol=0)
    everywhere = exact_information(mean, std, ValueTable.from_assignments(labels, 40))
    torch.testing.assert_close(partly.mutual_information[:, 1], everywhere.mutual_information[:, 0], atol=1e-9, rtol=0)


def test_soft_labels_that_are_certain_are_labels():
    mean, std, labels = random_codes(1)
    soft = tuple(torch.nn.functional.one_hot(y).double() for y in labels)
    for quadrature in ("direct", "binned"):
        certain = exact_information(mean, std, ValueTable.from_assignments(soft, 40), quadrature)
        hard = exact_information(mean, std, ValueTable.from_assignments(labels, 40), quadrature)
        torch.testing.assert_close(certain.mutual_information, hard.mutual_information, atol=1e-12, rtol=0)


def test_float32_codes_give_the_same_information():
    mean, std, labels = random_codes(2)
    values = ValueTable.from_assignments(labels, 40)
    single, double = exact_information(mean.float(), std.float(), values), exact_information(mean, std, values)
    torch.testing.assert_close(single.mutual_information, double.mutual_information, atol=2e-4, rtol=0)


# Cells


def test_binned_is_within_1e_4_nats_of_direct_on_20_000_codes():
    mean, std, labels = random_codes(0, num_images=20_000, num_latents=2, sizes=(3, 40))
    std = std.clamp(min=0.02)
    values = ValueTable.from_assignments(labels, 20_000)
    direct, binned = exact_information(mean, std, values, "direct"), exact_information(mean, std, values, "binned")
    assert 7 * len(exact._cells(mean[:, 0], std[:, 0], values).mean) < 20_000  # cells were used
    torch.testing.assert_close(binned.mutual_information, direct.mutual_information, atol=2e-6, rtol=0)
    torch.testing.assert_close(binned.entropy, direct.entropy, atol=2e-6, rtol=0)


@pytest.mark.parametrize("corner", [(0.49, 0.49), (0.49, -0.49), (0.0, 0.49), (0.25, 0.49)])
@pytest.mark.parametrize("spacing", [2, 4, 6, 9])
def test_binned_is_within_1e_4_nats_in_the_corners_of_cells(corner, spacing):
    """Every code at the same worst place of its cell, so that no error averages out."""
    generator = torch.Generator().manual_seed(spacing)
    position = spacing * torch.randint(0, 6, (600,), generator=generator)
    labels = (torch.randint(0, 3, (600,), generator=generator) + position) % 4
    cell_std = math.exp(3 * exact._CELL_LOG_STD)
    mean = ((position + corner[0]) * exact._CELL_MEAN * cell_std)[:, None].double()
    std = torch.full_like(mean, cell_std * math.exp(corner[1] * exact._CELL_LOG_STD))
    values = ValueTable.from_assignments((labels,), 600)
    direct, binned = exact_information(mean, std, values, "direct"), exact_information(mean, std, values, "binned")
    torch.testing.assert_close(binned.mutual_information, direct.mutual_information, atol=1e-4, rtol=0)
    torch.testing.assert_close(binned.entropy, direct.entropy, atol=1e-4, rtol=0)


def test_binned_falls_back_to_the_images_where_cells_are_no_fewer():
    mean, std, labels = random_codes(0)
    values = ValueTable.from_assignments(labels, 40)
    direct, binned = exact_information(mean, std, values, "direct"), exact_information(mean, std, values, "binned")
    torch.testing.assert_close(binned.mutual_information, direct.mutual_information, atol=0, rtol=0)


# Errors


@pytest.mark.parametrize("std", [0.0, -1.0, 1e-14])
def test_a_std_of_nothing_is_refused_with_advice(std):
    with pytest.raises(CodesError, match=r"latents \[1\].*quantized"):
        exact_information(torch.ones(3, 2), torch.tensor([[1.0, std]] * 3), ValueTable.from_assignments((), 3))


@pytest.mark.parametrize("num_latents", [2, 6])
def test_all_threads_together_are_as_many_as_torch_may_use(num_latents, monkeypatch):
    """A thread integrates a latent; torch's threads within it share the cores."""
    found = []

    def counted(*arguments):
        found.append(torch.get_num_threads())
        return entropy_integrals(*arguments)

    monkeypatch.setattr(exact, "entropy_integrals", counted)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        mean, std, values = random_codes(0, num_latents=num_latents)
        exact_information(mean, std, ValueTable.from_assignments(values, len(mean)))
        assert found == [4 // min(4, num_latents)] * num_latents
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)
