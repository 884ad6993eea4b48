"""Entropies of mixtures of Gaussians: closed forms, and an independent adaptive quadrature."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from unbraid.information import mixture_entropy
from unbraid.information.mixture_entropy import Mixtures, entropy_integrals, mixture_densities


def entropy_of(mean, std, weights=None):
    mean, std = torch.tensor(mean, dtype=torch.float64), torch.tensor(std, dtype=torch.float64)
    weights = torch.full_like(mean, 1 / len(mean)) if weights is None else torch.tensor(weights, dtype=torch.float64)
    mixtures = Mixtures(mean, std, lambda rows: weights[rows][:, None, None])
    return float(entropy_integrals(mixtures, 1, lambda table: table[:, :0]).entropy)


def entropy_by_scipy(mean, std, weights=None):
    """Adaptive quadrature of scipy, told where the components are."""
    weights = np.full(len(mean), 1 / len(mean)) if weights is None else np.asarray(weights)

    def integrand(z):
        q = weights @ stats.norm.pdf(z, mean, std)
        return -q * np.log(q) if q > 0 else 0.0

    stops = np.unique(np.concatenate([np.add(mean, k * np.asarray(std)) for k in (-9, -4, -2, -1, 0, 1, 2, 4, 9)]))
    return sum(integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-13)[0] for a, b in itertools.pairwise(stops))


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (3.0, 1e-6), (-1e3, 0.01), (0.0, 1e6)])
def test_one_gaussian_has_its_closed_form(mean, std):
    # A point z is rounded by 1e-16 of its size, which is as many stds as std goes into the mean.
    assert entropy_of([mean], [std]) == pytest.approx(
        0.5 * math.log(2 * math.pi * math.e * std**2), abs=1e-12 + 1e-15 * abs(mean) / std
    )


def test_equal_gaussians_are_one():
    assert entropy_of([0.5] * 7, [0.3] * 7) == pytest.approx(0.5 * math.log(2 * math.pi * math.e * 0.09), abs=1e-12)


def test_separate_gaussians_add_the_entropy_of_the_choice():
    h = 0.5 * math.log(2 * math.pi * math.e)
    assert entropy_of([-50, 50], [1, 1], [0.1, 0.9]) == pytest.approx(
        h - 0.1 * math.log(0.1) - 0.9 * math.log(0.9), abs=1e-12
    )


@pytest.mark.parametrize("distance", [0.5, 2, 4, 6, 8, 12])
def test_two_gaussians_match_an_independent_quadrature(distance):
    assert entropy_of([0, distance], [1, 1]) == pytest.approx(entropy_by_scipy([0, distance], [1, 1]), abs=1e-10)


def test_widths_of_many_sizes_match_an_independent_quadrature():
    mean, std, weights = [0.0, 0.3, 0.31, -1.0, 2.0], [1.0, 0.01, 1e-4, 0.2, 3.0], [0.3, 0.2, 0.1, 0.3, 0.1]
    assert entropy_of(mean, std, weights) == pytest.approx(entropy_by_scipy(mean, std, weights), abs=1e-9)


def test_one_narrow_gaussian_among_wide_ones_is_not_missed():
    """q = 0.999 N(0, 1) + 0.001 N(0.5, 1e-8^2): where the spike stands, the rest is negligible."""
    spike = 1e-3 * (0.5 * math.log(2 * math.pi * math.e * 1e-16) - math.log(1e-3))
    rest = 0.999 * (0.5 * math.log(2 * math.pi * math.e) - math.log(0.999))
    # The two overlap on 1e-7 of the line, with a log ratio of 10.
    assert entropy_of([0.0, 0.5], [1.0, 1e-8], [0.999, 0.001]) == pytest.approx(spike + rest, abs=1e-5)


def test_small_blocks_change_nothing(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(50, generator=generator).tolist()
    std = torch.exp(2 * torch.randn(50, generator=generator) - 2).tolist()
    whole = entropy_of(mean, std)
    monkeypatch.setattr(mixture_entropy, "_COMPONENTS_PER_BLOCK", 3)
    monkeypatch.setattr(mixture_entropy, "_PANELS_PER_BLOCK", 2)
    assert entropy_of(mean, std) == pytest.approx(whole, abs=1e-13)


def test_columns_are_mixtures_of_their_own():
    mean, std = torch.tensor([0.0, 100.0], dtype=torch.float64), torch.tensor([1.0, 2.0], dtype=torch.float64)
    table = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    found = entropy_integrals(
        Mixtures(mean, std, lambda rows: table[rows][:, None]), 2, lambda density: density.sum(dim=1, keepdim=True)
    )
    expected = 0.5 * torch.log(2 * math.pi * math.e * std**2)
    torch.testing.assert_close(found.entropy, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(found.entropy_of_sums, expected.sum()[None], atol=1e-12, rtol=0)


def test_higher_orders_are_derivatives_of_the_gaussian():
    """N + d He_1 N + (d^2 / 2) He_2 N + ... is the Gaussian moved by d stds, whose entropy is the same."""
    shift = 0.1
    coefficients = torch.tensor([shift**k / math.factorial(k) for k in range(9)], dtype=torch.float64)[None, :, None]
    one = torch.ones(1, dtype=torch.float64)
    found = entropy_integrals(
        Mixtures(0 * one, one, lambda rows: coefficients[rows]), 1, lambda density: density[:, :0]
    )
    assert float(found.mass) == pytest.approx(1)
    assert float(found.entropy) == pytest.approx(0.5 * math.log(2 * math.pi * math.e), abs=1e-8)


def test_densities_at_points_are_those_of_the_mixture(monkeypatch):
    """Points in any order, components of all widths, blocks of a few: every column as if computed alone."""
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(30, dtype=torch.float64, generator=generator)
    std = torch.exp(2 * torch.randn(30, dtype=torch.float64, generator=generator) - 2)
    table = torch.rand(30, 2, dtype=torch.float64, generator=generator)
    points = torch.cat([mean + std, torch.tensor([5.0, -5.0]).double()])
    monkeypatch.setattr(mixture_entropy, "_COMPONENTS_PER_BLOCK", 4)
    monkeypatch.setattr(mixture_entropy, "_POINTS_PER_BLOCK", 5)
    found = mixture_densities(Mixtures(mean, std, lambda rows: table[rows][:, None]), points, 2)
    expected = torch.distributions.Normal(mean, std).log_prob(points[:, None]).exp() @ table
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
