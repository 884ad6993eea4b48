"""Several tables at once."""

import pytest
import torch

from unbraid.datasets.weights import ChenDesign, Correlated, JointTable, Product, UniformJoint
from unbraid.errors import SpecError


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
    with pytest.raises(SpecError, match="no combination of a is possible under all of the joints"):
        Product((first, second)).table((2,))


def test_a_product_of_nothing_is_refused():
    with pytest.raises(SpecError, match="joints is empty"):
        Product(())
