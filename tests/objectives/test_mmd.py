"""The maximum mean discrepancy: two sets of codes, one number."""

import inspect
import math
from itertools import product
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid import functional
from unbraid.errors import SpecError
from unbraid.objectives.terms.mmd import Bandwidth, Kernel, Statistic, squared_mmd

every_kernel = pytest.mark.parametrize(("kernel", "bandwidth"), list(product(get_args(Kernel), get_args(Bandwidth))))


def codes(seed, size, latents=3):
    return torch.randn(size, latents, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def by_hand(a, b, kernel, bandwidth, statistic):
    d = a.shape[1]

    def k(u, v):
        distance = sum((s - t) ** 2 for s, t in zip(u, v, strict=True))
        return (
            2 * d / (2 * d + distance)
            if kernel == "imq"
            else math.exp(-distance / (d if bandwidth == "dimension" else d * d))
        )

    def within(points):
        pairs = [k(u, v) for i, u in enumerate(points) for j, v in enumerate(points) if statistic == "biased" or i != j]
        return sum(pairs) / len(pairs)

    a, b = a.tolist(), b.tolist()
    return within(a) + within(b) - 2 * sum(k(u, v) for u in a for v in b) / (len(a) * len(b))


@every_kernel
@pytest.mark.parametrize("statistic", get_args(Statistic))
def test_it_is_three_means_over_pairs(kernel, bandwidth, statistic):
    a, b = codes(0, 6), codes(1, 4) + 0.5
    found = squared_mmd(a, b, kernel, bandwidth, statistic)
    assert found.item() == pytest.approx(by_hand(a, b, kernel, bandwidth, statistic), rel=1e-12)


def test_of_two_single_points_it_is_2_minus_2_k():
    a, b = torch.zeros(1, 2).double(), torch.tensor([[1.0, 1.0]]).double()
    assert squared_mmd(a, b).item() == pytest.approx(2 - 2 * math.exp(-1))
    assert squared_mmd(a, b, bandwidth="zhao").item() == pytest.approx(2 - 2 * math.exp(-0.5))
    assert squared_mmd(a, b, kernel="imq").item() == pytest.approx(2 - 2 * 4 / 6)


@every_kernel
@given(seed=st.integers(0, 1000), shift=st.floats(-5, 5))
def test_biased_it_is_never_negative_and_0_for_equal_sets(kernel, bandwidth, seed, shift):
    a, b = codes(seed, 5), codes(seed + 1, 7) + shift
    assert squared_mmd(a, b, kernel, bandwidth).item() >= -1e-12
    assert squared_mmd(a, a.flip(0), kernel, bandwidth).item() == pytest.approx(0, abs=1e-12)


def test_unbiased_its_mean_is_0_where_both_sets_are_from_one_distribution():
    values = torch.stack([squared_mmd(codes(2 * k, 8), codes(2 * k + 1, 8), statistic="unbiased") for k in range(1000)])
    error = values.std() / math.sqrt(len(values))
    assert abs(values.mean()) < 4 * error
    assert bool((values < 0).any())
    biased = torch.stack([squared_mmd(codes(2 * k, 8), codes(2 * k + 1, 8)) for k in range(100)])
    assert biased.mean() > 20 * error


@pytest.mark.parametrize("statistic", get_args(Statistic))
def test_its_gradient_is_finite_where_codes_coincide(statistic):
    a = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    squared_mmd(a, torch.zeros(3, 2).double(), statistic=statistic).backward()
    assert bool(a.grad.isfinite().all())


@pytest.mark.parametrize("named", [{"kernel": "linear"}, {"bandwidth": "median"}, {"statistic": "v"}])
def test_an_unknown_name_is_refused(named):
    with pytest.raises(SpecError, match=str(*named.values())):
        inspect.unwrap(functional.mmd)(codes(0, 4), codes(1, 4), **named)  # without the type checks of tests


def test_one_code_has_no_unbiased_estimate():
    for sizes in ((1, 4), (4, 1)):
        with pytest.raises(SpecError, match="unbiased"):
            functional.mmd(*(codes(0, size) for size in sizes), statistic="unbiased")
