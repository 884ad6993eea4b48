"""Arrays from numpy, torch and lists."""

import numpy as np
import pytest
import torch

from unbraid._internal.arrays import as_array, as_floats, as_tensor, columns, numbered, ranks, same_content
from unbraid.errors import CodesError


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([[1, 2], [3, 4]], id="lists"),
        pytest.param(np.array([[1, 2], [3, 4]], dtype=">i4"), id="another byte order"),
        pytest.param(np.array([[3, 4], [1, 2]])[::-1], id="negative strides"),
        pytest.param(read_only(np.array([[1, 2], [3, 4]])), id="read-only"),
        pytest.param(np.array([[1, 2], [3, 4]], dtype=np.longdouble), id="long doubles"),
        pytest.param(torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True), id="gradients"),
    ],
)
def test_numbers_of_any_make_become_a_tensor(values):
    tensor = as_tensor("x", values)
    assert tensor.tolist() == [[1, 2], [3, 4]]
    assert not tensor.requires_grad


def test_half_precision_is_widened():
    assert as_floats("x", np.ones((2, 2), dtype=np.float16)).dtype == torch.float32
    assert as_floats("x", torch.ones(2, 2, dtype=torch.bfloat16)).dtype == torch.float32
    assert as_floats("x", np.ones((2, 2), dtype=np.uint8)).dtype == torch.float64


def test_objects_that_are_words_are_words():
    assert as_array("x", np.array(["a", "bc"], dtype=object)).tolist() == ["a", "bc"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0], [3.0]], "^x .*lengths"),
        (np.array([{}, []], dtype=object), "^x .*dict, list"),
        (["a", 1], "^x .*int, str"),
        (["a", "b"], "^x .*<U1"),
        (np.array([1j]), "complex"),
        (torch.tensor([1j]), "complex"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "datetime"),
    ],
)
def test_what_is_not_numbers_is_refused(values, message):
    with pytest.raises(CodesError, match=message):
        as_tensor("x", values)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, float("nan")]), True),
        (torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0]), False),
        (torch.tensor([1.0]), torch.tensor([1.0]).double(), False),
        (torch.tensor([1.0]), torch.tensor([1.0, 1.0]), False),
        (torch.tensor([1.0]), None, False),
        ({"a": [1, (2.0, float("nan"))]}, {"a": (1, [2.0, float("nan")])}, True),
        ({"a": 1}, {"b": 1}, False),
        ((1, 2), (1, 2, 3), False),
        ("word", "word", True),
    ],
)
def test_content_is_compared_entry_by_entry(one, other, same):
    assert same_content(one, other) == same_content(other, one) == same


def test_columns_are_taken_in_the_order_asked_for_and_may_be_none():
    table = torch.arange(12.0).reshape(3, 4)
    assert torch.equal(columns(table, (2, 0)), table[:, [2, 0]])
    assert columns(table, ()).shape == (3, 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([3, 7, 7, -1], [1, 2, 2, 0]), ([10**9, -(10**9), 10**9, 3], [2, 0, 2, 1]), ([2**62, -(2**63)], [1, 0]), ([], [])],
)
def test_integers_are_ranked_however_far_apart(values, expected):
    assert ranks(torch.tensor(values, dtype=torch.int64)).tolist() == expected


def test_numbered_entries_come_in_order_and_without_gaps():
    assert numbered({"a_1": "x", "b": 0, "a_0": "y", "a_z": 1}, "a_") == ["y", "x"]
    with pytest.raises(CodesError, match="a_1"):
        numbered({"a_0": 0, "a_2": 0}, "a_")
