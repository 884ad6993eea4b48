import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.data import factor_columns
from unbraid.data.dataset import Factor
from unbraid.errors import DataError


def test_whole_numbers_become_their_ranks():
    column = factor_columns.of_texts("age", ["3", "7", "+7", "-1", "007"])
    assert column.factor == Factor("age", 3)
    assert column.values.tolist() == [1, 2, 2, 0, 2]
    assert column.values.dtype == np.int64


def test_decimals_are_measurements():
    column = factor_columns.of_texts("depth", ["1", "2.5", "-1e-3", ".5", "3."])
    assert column.factor == Factor("depth", 0)
    assert column.values.tolist() == [1.0, 2.5, -0.001, 0.5, 3.0]


def test_words_are_numbered_in_alphabetical_order_and_not_ranked():
    column = factor_columns.of_texts("colour", ["red", "blue", "red", "2"])
    assert column.factor == Factor("colour", 3, ordered=False)
    assert column.words == ("2", "blue", "red")
    assert column.values.tolist() == [2, 1, 2, 0]


@pytest.mark.parametrize("cell", ["1_000", "٣", "0x10", "1 2", "one"])
def test_what_only_looks_like_a_number_is_a_word(cell):
    assert not factor_columns.of_texts("label", ["1", cell]).factor.ordered


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_ranks_keep_the_order_of_64_bit_numbers(numbers):
    column = factor_columns.of_texts("label", list(map(str, numbers)))
    assert column.values.tolist() == [sorted(set(numbers)).index(number) for number in numbers]


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        (["1", "", "2"], "'label' has no label for 1 images"),
        (["nan", "NaN", "red"], "no label for 2 images"),
        (["1.5", "inf"], "NaN or infinite for 1 images"),
        (["1.5", "1e999"], "NaN or infinite"),
        (["9223372036854775808"], "beyond 64 bits"),
        (["-" + "9" * 5000], "beyond 64 bits"),
    ],
)
def test_labels_that_are_missing_or_too_large_are_refused(cells, match):
    with pytest.raises(DataError, match=match):
        factor_columns.of_texts("label", cells)


def test_a_table_of_discrete_factors_holds_integers():
    values, factors = factor_columns.table(
        [factor_columns.of_texts("a", ["5", "6"]), factor_columns.of_texts("b", ["x", "x"])], 2
    )
    assert values.tolist() == [[0, 0], [1, 0]]
    assert values.dtype == np.int64
    assert factors == (Factor("a", 2), Factor("b", 1, ordered=False))


def test_beside_a_continuous_factor_value_indices_are_floats_too():
    values, factors = factor_columns.table(
        [factor_columns.of_texts("a", ["5", "6"]), factor_columns.of_texts("b", ["0.5", "1"])], 2
    )
    assert values.tolist() == [[0.0, 0.5], [1.0, 1.0]]
    assert factors == (Factor("a", 2), Factor("b", 0))


def test_no_columns_make_a_table_of_no_columns():
    values, factors = factor_columns.table([], 3)
    assert values.shape == (3, 0)
    assert factors == ()
