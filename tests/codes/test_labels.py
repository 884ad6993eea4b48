"""Labels: how they are read, numbered and binned."""

import math

import numpy as np
import pytest
import torch

from unbraid.codes import Labels
from unbraid.errors import CodesError

# How they are read


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int16, np.int64])
def test_any_integers_are_values_of_a_discrete_factor(dtype):
    labels = Labels.from_column("x", np.array([0, 1, 1], dtype=dtype))
    assert not labels.is_continuous
    assert labels.assignment().tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "words", [["square", "heart", "square"], np.array(["square", "heart", "square"], dtype=object)]
)
def test_words_are_numbered_and_have_no_order(words):
    labels = Labels.from_column("shape", words)
    assert labels.assignment().tolist() == [1, 0, 1]
    assert not labels.ordered


@pytest.mark.parametrize(
    ("column", "missing", "known"),
    [
        ([0, -1, 2], -1, [True, False, True]),
        ([0.5, math.nan, 2.5], math.nan, [True, False, True]),
        ([0.5, -9.0, 2.5], -9, [True, False, True]),
        (["a", "", "b"], "", [True, False, True]),
        ([[0.5, 0.5], [math.nan, 0.5], [0.0, 1.0]], math.nan, [True, False, True]),
        ([0, 1, 2], -1, None),
        ([0, 1, 2], math.nan, None),
        ([0, 1, 2], "", None),
        (["a", "b", "c"], -1, None),
    ],
)
def test_a_mark_says_which_labels_are_missing(column, missing, known):
    found = Labels.from_column("x", column, missing=missing).known
    assert known == (None if found is None else found.tolist())


# How they are numbered


MASK = [False, True, False, False]


@pytest.mark.parametrize(
    ("column", "missing", "known"),
    [
        (np.ma.array([1, 5, 2, 1], mask=MASK), None, [True, False, True, True]),
        (np.ma.array([1, 5, 2, 1], mask=MASK), 2, [True, False, False, True]),
        (np.ma.array([1.0, math.nan, 2.0, 1.0], mask=MASK), None, [True, False, True, True]),
        (np.ma.array(["a", "c", "b", "a"], mask=MASK), None, [True, False, True, True]),
        (np.ma.array(["a", None, "b", "a"], mask=MASK, dtype=object), None, [True, False, True, True]),
        (np.ma.array([[0.5, 0.5]] * 4, mask=[[0, 0], [1, 0], [0, 0], [0, 0]]), None, [True, False, True, True]),
    ],
)
def test_a_masked_label_is_missing(column, missing, known):
    labels = Labels.from_column("hue", column, missing=missing)
    assert labels.known.tolist() == known
    without = Labels.from_column("hue", np.asarray(column)[[0, 2, 3]], missing=missing)
    assert torch.equal(labels.assignment()[[0, 2, 3]], without.assignment()) if not labels.is_continuous else True


def test_a_masked_number_is_no_column():
    with pytest.raises(CodesError, match="Factor 'hue'"):
        Labels.from_column("hue", np.ma.masked)


def test_a_mask_that_masks_nothing_leaves_all_labels_known():
    assert Labels.from_column("hue", np.ma.array([1, 2], mask=False)) == Labels.from_column("hue", [1, 2])


def test_assignment_numbers_the_values_that_occur_where_they_are_known():
    labels = Labels("x", torch.tensor([7, 3, 99, 7]), known=torch.tensor([True, True, False, True]))
    assert labels.assignment().tolist() == [1, 0, -1, 1]


@pytest.mark.parametrize("far", [10**12, 2**63 - 1])
def test_values_far_apart_are_numbered_too(far):
    assert Labels("x", torch.tensor([far, -far, 5, far])).assignment().tolist() == [2, 0, 1, 2]


def test_soft_labels_are_zero_where_not_known():
    labels = Labels("x", torch.tensor([[0.5, 0.5], [torch.nan, 0.1]]), known=torch.tensor([True, False]))
    torch.testing.assert_close(labels.assignment(), torch.tensor([[0.5, 0.5], [0.0, 0.0]]))


def test_a_continuous_factor_has_no_values_to_count():
    with pytest.raises(CodesError, match="'x' is continuous"):
        Labels("x", torch.tensor([0.5, 1.5])).assignment()


# How they are binned


def test_bins_have_equal_width_from_the_least_to_the_greatest():
    labels = Labels("x", torch.tensor([-1.0, -0.51, -0.49, 0.2, 1.0])).binned(4)
    assert labels.values.tolist() == [0, 0, 1, 2, 3]
    assert labels.ordered


def test_missing_measurements_stay_missing_and_set_no_range():
    labels = Labels(
        "x", torch.tensor([0.0, torch.nan, 1.0, 100.0]), known=torch.tensor([True, False, True, False])
    ).binned(2)
    assert labels.assignment().tolist() == [0, -1, 1, -1]


def test_a_measurement_that_never_varies_falls_into_one_bin():
    assert Labels("x", torch.full((3,), 0.1)).binned(5).values.tolist() == [0, 0, 0]
    nowhere = Labels("x", torch.full((3,), torch.nan), known=torch.zeros(3, dtype=torch.bool))
    assert nowhere.binned(5).assignment().tolist() == [-1, -1, -1]


def test_extreme_measurements_are_binned_without_overflow():
    largest = torch.finfo(torch.float64).max
    assert Labels("x", torch.tensor([-largest, 0.0, largest], dtype=torch.float64)).binned(3).values.tolist() == [
        0,
        1,
        2,
    ]


def test_discrete_labels_are_left_as_they_are():
    labels = Labels("x", torch.tensor([3, 1, 7]))
    assert labels.binned(2) is labels


# What they refuse


@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.zeros((3, 2), dtype=int), "p.y | x. as floats"),
        ([[0.5, 0.2]] * 3, "do not sum to 1"),
        ([[1.5, -0.5]] * 3, "negative"),
        ([0.5, 0.2, math.nan], "missing=math.nan"),
        ([0.5, 0.2, math.inf], "infinite"),
        ([["a", "b"]] * 3, "Factor 'x'"),
        (3, "Factor 'x'"),
        ([0.5, math.nan, 0.2, math.nan], r"in 2 rows \(1, 3\)"),
        (np.array([2**63, 0], dtype=np.uint64), r"Factor 'x' has labels >= 2\*\*63"),
        (torch.ones(3).to(torch.float8_e4m3fn), "16 bits or more"),
    ],
)
def test_malformed_columns_are_refused_with_advice(column, message):
    with pytest.raises(CodesError, match=message):
        Labels.from_column("x", column)


def test_fewer_than_two_bins_are_refused():
    with pytest.raises(CodesError, match="num_bins is 1"):
        Labels("x", torch.tensor([0.5, 1.5])).binned(1)


@pytest.mark.usefixtures("_as_users_run_it")
def test_flags_of_another_length_are_refused():
    with pytest.raises(CodesError, match="\\(2,\\)"):
        Labels("x", torch.tensor([0, 1]), known=torch.tensor([True]))


@pytest.mark.usefixtures("_as_users_run_it")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((" ", torch.arange(3)), "name ' '"),
        ((3, torch.arange(3)), "name 3"),
        (("x", np.arange(3)), "ndarray"),
        (("x", torch.arange(3), torch.ones(3)), "torch.float32"),
        (("x", torch.full((3, 2, 2), 0.25)), "Factor 'x'"),
    ],
)
def test_labels_that_are_no_labels_are_refused(arguments, message):
    with pytest.raises(CodesError, match=message):
        Labels(*arguments)


def test_large_unsigned_integers_that_fit_are_kept():
    assert Labels.from_column("x", np.array([2**63 - 1, 0], dtype=np.uint64)).assignment().tolist() == [1, 0]


def test_a_factor_name_that_would_speak_to_the_terminal_is_refused():
    with pytest.raises(CodesError, match="control characters"):
        Labels("\x1b[31mred", torch.tensor([0, 1]))


# When they are equal


def test_labels_are_equal_if_what_is_known_is():
    known = torch.tensor([True, True, False])
    labels = Labels("hue", torch.tensor([0.5, 1.0, math.nan]), known=known)
    assert labels == Labels("hue", torch.tensor([0.5, 1.0, 7.0]), known=known)
    assert labels != Labels("hue", torch.tensor([0.5, 2.0, 7.0]), known=known)
    assert labels != Labels("hue", torch.tensor([0.5, 1.0, 7.0]))
    assert labels != Labels("size", torch.tensor([0.5, 1.0, 7.0]), known=known)
    assert Labels("hue", torch.arange(3)) == Labels("hue", torch.arange(3), known=torch.ones(3, dtype=torch.bool))
    assert Labels("hue", torch.arange(3)) != Labels("hue", torch.arange(3), ordered=False)
