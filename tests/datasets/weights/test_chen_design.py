"""The designs have the properties that their letters stand for, for factors of any size."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid.datasets.weights import ChenDesign
from unbraid.errors import SpecError

SIZES = st.tuples(st.integers(2, 60), st.integers(2, 60))
RATIOS = st.one_of(st.just(4.0), st.floats(1.01, 100))
POSES = (21, 11)  # azimuth and elevation of the faces


def correlation(table):
    """Pearson's, of the value indices."""
    x, y = (torch.arange(size, dtype=torch.float64) for size in table.shape)
    p, q = table.sum(dim=1), table.sum(dim=0)
    x, y = x - p @ x, y - q @ y
    return float(x @ table @ y / ((p @ x.square()) * (q @ y.square())).sqrt())


def mutual_information(table):
    independent = torch.outer(table.sum(dim=1), table.sum(dim=0))
    return float(torch.xlogy(table, table / independent).sum())


def assert_uniform(marginal):
    torch.testing.assert_close(marginal, torch.full_like(marginal, 1 / len(marginal)), rtol=0, atol=1e-15)


@given(sizes=SIZES)
def test_a_is_uniform(sizes):
    table = ChenDesign("A").table(sizes)
    assert table.unique().numel() == 1


@given(sizes=SIZES, ratio=RATIOS)
def test_b_is_the_product_of_its_marginals_which_are_not_uniform(sizes, ratio):
    table = ChenDesign("B", ratio=ratio).table(sizes)
    torch.testing.assert_close(table, torch.outer(table.sum(dim=1), table.sum(dim=0)), rtol=0, atol=1e-15)
    for axis in (0, 1):
        marginal = table.sum(dim=axis)
        assert float(marginal.max() / marginal.min()) == pytest.approx(math.sqrt(ratio), rel=1e-12)
    assert correlation(table) == pytest.approx(0, abs=1e-12)


@given(sizes=SIZES.filter(lambda sizes: max(sizes) > 2), ratio=RATIOS)
def test_c_is_uncorrelated_with_uniform_marginals_but_dependent(sizes, ratio):
    table = ChenDesign("C", ratio=ratio).table(sizes)
    assert correlation(table) == pytest.approx(0, abs=1e-12)
    for axis in (0, 1):
        assert_uniform(table.sum(dim=axis))
    # By Pinsker's inequality, from the total variation between the table and the product of its marginals.
    bound = float((table - 1 / table.numel()).abs().sum()) ** 2 / 2
    assert mutual_information(table) >= bound * (1 - 1e-9) > 0


@given(sizes=SIZES.filter(lambda sizes: max(sizes) > 2))
def test_at_the_ratio_of_the_paper_the_factors_of_c_share_more_than_a_fiftieth_of_a_nat(sizes):
    """As large grids do in the limit."""
    assert mutual_information(ChenDesign("C").table(sizes)) > 0.02


@given(sizes=SIZES, ratio=RATIOS)
def test_d_is_correlated_as_the_closed_form_says_with_uniform_marginals(sizes, ratio):
    table = ChenDesign("D", ratio=ratio).table(sizes)
    (n, m), c = sizes, (ratio - 1) / (ratio + 1)
    assert correlation(table) == pytest.approx(c * math.sqrt((n + 1) * (m + 1) / (9 * (n - 1) * (m - 1))), abs=1e-12)
    for axis in (0, 1):
        assert_uniform(table.sum(dim=axis))


@pytest.mark.parametrize("design", ["B", "C", "D"])
@given(sizes=SIZES.filter(lambda sizes: max(sizes) > 2), ratio=RATIOS)
def test_the_most_likely_combination_is_so_many_times_as_likely_as_the_least(design, sizes, ratio):
    table = ChenDesign(design, ratio=ratio).table(sizes)
    assert float(table.max() / table.min()) == pytest.approx(ratio, rel=1e-12)
    assert float(table.min()) > 0


def test_the_poses_of_faces():
    """What the designs come to where the paper used them, to three digits."""
    tables = {design: ChenDesign(design).table(POSES) for design in "ABCD"}
    assert {design: round(float(table.max() / table.min()), 12) for design, table in tables.items()} == {
        "A": 1,
        "B": 4,
        "C": 4,
        "D": 4,
    }
    assert correlation(tables["D"]) == pytest.approx(0.6 * math.sqrt(22 * 12 / (9 * 20 * 10)), abs=1e-12)
    assert correlation(tables["D"]) == pytest.approx(0.230, abs=5e-4)
    assert mutual_information(tables["C"]) == pytest.approx(0.031, abs=5e-4)
    assert mutual_information(tables["A"]) == pytest.approx(0, abs=1e-14)


def test_c_of_three_by_three_values_is_written_out():
    expected = torch.tensor([[5, 2, 5], [2, 8, 2], [5, 2, 5]], dtype=torch.float64) / 36
    torch.testing.assert_close(ChenDesign("C").table((3, 3)), expected, rtol=0, atol=1e-15)


def test_two_factors_of_two_values_cannot_be_uncorrelated_and_dependent():
    with pytest.raises(SpecError, match="azimuth and elevation"):
        ChenDesign("C").table((2, 2))


def test_a_factor_of_one_value_is_refused():
    with pytest.raises(SpecError, match="elevation has one value"):
        ChenDesign("B").table((4, 1))


@pytest.mark.parametrize("ratio", [1.0, 0.5, -4.0, float("inf"), float("nan")])
def test_a_ratio_that_is_no_bias_is_refused(ratio):
    with pytest.raises(SpecError, match="ratio is .* > 1"):
        ChenDesign("B", ratio=ratio)
