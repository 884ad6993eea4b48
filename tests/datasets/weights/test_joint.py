"""What is asked of every joint table, those still to be written among them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.grid_columns import GRID_FACTORS
from tests.discovery import concrete_subclasses
from unbraid.datasets.dataset import Factor
from unbraid.datasets.weights import ChenDesign, Correlated, Joint, JointTable, Product, UniformJoint
from unbraid.errors import DataError, SpecError

EXAMPLES = {
    ChenDesign: lambda sizes: ChenDesign("D", ("shape", "scale")),
    Correlated: lambda sizes: Correlated(("shape", "scale"), 0.3),
    Product: lambda sizes: Product((Correlated(("shape", "scale"), 0.3), UniformJoint(("shape",)))),
    JointTable: lambda sizes: JointTable(("shape", "scale"), tuple(map(float, range(math.prod(sizes))))),
    UniformJoint: lambda sizes: UniformJoint(("shape", "scale")),
}


def test_every_joint_has_an_example():
    assert sorted(cls.__name__ for cls in EXAMPLES) == [cls.__name__ for cls in concrete_subclasses(Joint)]


@pytest.mark.parametrize("cls", EXAMPLES, ids=lambda cls: cls.__name__)
@given(sizes=st.tuples(st.integers(2, 40), st.integers(2, 40)))
def test_a_table_has_an_axis_for_each_factor_and_sums_to_one(cls, sizes):
    joint = EXAMPLES[cls](sizes)
    table = joint.table(sizes)
    assert table.shape == sizes
    assert len(joint.factors) == 2
    assert float(table.min()) >= 0
    assert float(table.sum()) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        (("shape", "hue"), "UniformJoint.*'hue'"),
        (
            ("shape", "depth"),
            "UniformJoint",
        ),
    ],
)
def test_factors_that_are_not_there_or_not_discrete_are_refused_by_name(factors, message):
    with pytest.raises(SpecError, match=message):
        UniformJoint(factors).sizes_among((*GRID_FACTORS, Factor("depth", 0))[: 3 if "hue" in factors else 4])


def test_images_without_factors_are_refused():
    with pytest.raises(SpecError, match="factor 'shape'"):
        UniformJoint(("shape",)).sizes_among(())


def test_a_table_that_would_fill_the_memory_is_refused():
    factors = tuple(Factor(name, 1000) for name in "abcd")
    with pytest.raises(SpecError, match="1,000,000,000,000 cells"):
        UniformJoint(tuple("abcd")).sizes_among(factors)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: UniformJoint(()), "UniformJoint"),
        (lambda: UniformJoint(("a", "a")), "UniformJoint"),
        (lambda: Correlated(("a",), 0.2), "Correlated.*2"),
        (lambda: ChenDesign("A", ("a", "b", "c")), "ChenDesign.*2"),
    ],
)
def test_factors_that_are_too_few_too_many_or_twice_are_refused(make, message):
    with pytest.raises(SpecError, match=message):
        make()


def test_a_uniform_table_is_the_same_everywhere():
    assert torch.equal(UniformJoint(("a", "b")).table((2, 5)), torch.full((2, 5), 0.1, dtype=torch.float64))


def test_numbers_are_read_row_by_row_and_scaled_to_one():
    table = JointTable(("a", "b"), (1.0, 2.0, 3.0, 4.0, 0.0, 0.0)).table((2, 3))
    torch.testing.assert_close(
        table, torch.tensor([[0.1, 0.2, 0.3], [0.4, 0, 0]], dtype=torch.float64), rtol=0, atol=1e-16
    )


@pytest.mark.parametrize("kind", [np.array, torch.tensor, list])
def test_a_table_comes_from_an_array_with_an_axis_for_each_factor(kind):
    assert JointTable.from_array(["a", "b"], kind([[1.0, 2.0], [3.0, 4.0]])) == JointTable(
        ("a", "b"), (1.0, 2.0, 3.0, 4.0)
    )


def test_numbers_near_the_largest_float_do_not_overflow():
    assert JointTable(("a",), (1e308, 1e308)).table((2,)).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("probabilities", [(), (0.0, 0.0), (1.0, -0.1), (1.0, float("nan")), (float("inf"), 1.0)])
def test_numbers_that_are_no_probabilities_are_refused(probabilities):
    with pytest.raises(SpecError, match=">= 0, not all 0"):
        JointTable(("a",), probabilities)


def test_a_table_of_another_size_is_refused():
    with pytest.raises(
        SpecError,
        match=("2 x 3"),
    ):
        JointTable(("a", "b"), (1.0,) * 5).table((2, 3))


def test_an_array_with_another_number_of_axes_is_refused():
    with pytest.raises(SpecError, match="1 axes"):
        JointTable.from_array(("a", "b"), [1.0, 2.0])
    with pytest.raises(DataError, match="lengths"):
        JointTable.from_array(("a", "b"), [[1.0, 2.0], [3.0]])


def test_masked_probabilities_are_refused():
    with pytest.raises(DataError, match="masked entries"):
        JointTable.from_array(("a", "b"), np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]]))


def test_over_different_factors_each_stays_what_it_is_and_they_are_independent():
    first, second = Correlated(("a", "c"), 0.2), ChenDesign("D", ("d", "b"))
    product = Product((first, second))
    assert product.factors == ("a", "c", "d", "b")
    table = product.table((3, 4, 5, 6))
    outer = torch.einsum("ij,kl->ijkl", first.table((3, 4)), second.table((5, 6)))
    torch.testing.assert_close(table, outer, rtol=1e-12, atol=1e-16)


def test_over_shared_factors_the_tables_are_multiplied():
    """One factor that goes with two others."""
    product = Product((Correlated(("a", "b"), 0.2), Correlated(("c", "a"), 0.3)))
    assert product.factors == ("a", "b", "c")
    expected = torch.einsum(
        "ij,ki->ijk", Correlated(("a", "b"), 0.2).table((3, 4)), Correlated(("c", "a"), 0.3).table((5, 3))
    )
    torch.testing.assert_close(product.table((3, 4, 5)), expected / expected.sum(), rtol=1e-12, atol=1e-16)


def test_a_uniform_factor_changes_nothing():
    joint = Correlated(("a", "b"), 0.2)
    torch.testing.assert_close(
        Product((joint, UniformJoint(("b", "a")))).table((3, 4)), joint.table((3, 4)), rtol=1e-14, atol=0
    )


def test_tables_that_exclude_each_other_are_refused():
    first, second = JointTable(("a",), (1.0, 0.0)), JointTable(("a",), (0.0, 1.0))
    with pytest.raises(SpecError, match="probability 0"):
        Product((first, second)).table((2,))


def test_a_product_of_nothing_is_refused():
    with pytest.raises(SpecError, match="joints is empty"):
        Product(())
