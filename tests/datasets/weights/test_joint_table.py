"""Tables that are given."""

import numpy as np
import pytest
import torch

from unbraid.datasets.weights import JointTable, UniformJoint
from unbraid.errors import SpecError


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
    with pytest.raises(SpecError, match="finite, none of them negative and not all zero"):
        JointTable(("a",), probabilities)


def test_a_table_of_another_size_is_refused():
    with pytest.raises(
        SpecError,
        match=(
            r"5 probabilities were given for a, b, which take 2 x 3 combinations of values; expected 6, the values of "
            r"b following"
        ),
    ):
        JointTable(("a", "b"), (1.0,) * 5).table((2, 3))


def test_an_array_with_another_number_of_axes_is_refused():
    with pytest.raises(SpecError, match="the array has 1 axes for 2 factors"):
        JointTable.from_array(("a", "b"), [1.0, 2.0])
    with pytest.raises(SpecError, match="no array of numbers can be made of what was given"):
        JointTable.from_array(("a", "b"), [[1.0, 2.0], [3.0]])


def test_masked_probabilities_are_refused():
    with pytest.raises(SpecError, match="some probabilities are masked"):
        JointTable.from_array(("a", "b"), np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]]))
