import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unbraid.datasets.dataset import Factor, tabulated
from unbraid.datasets.user.labels import factor_table, from_text
from unbraid.errors import DataError


def table(**columns):
    found = {name: from_text(name, cells) for name, cells in columns.items()}
    words = {name: words for name, (_, words) in found.items() if words}
    labels = [labels for labels, _ in found.values()]
    return tabulated(labels, 3).numpy(), factor_table(labels, words), words


def test_whole_numbers_become_their_ranks():
    values, factors, _ = table(age=["3", "7", "+7", "-1", "007"])
    assert (values[:, 0].tolist(), values.dtype, factors) == ([1, 2, 2, 0, 2], np.int64, (Factor("age", 3),))


def test_decimals_are_measurements():
    values, factors, _ = table(depth=["1", "2.5", "-1e-3", ".5", "3."])
    assert (values[:, 0].tolist(), factors) == ([1.0, 2.5, -0.001, 0.5, 3.0], (Factor("depth", 0),))


def test_words_are_numbered_in_alphabetical_order_and_not_ranked():
    values, factors, words = table(color=["red", "blue", "", "red", "2"])
    assert (values[:, 0].tolist(), factors) == ([2, 1, -1, 2, 0], (Factor("color", 3, ordered=False),))
    assert words == {"color": ("2", "blue", "red")}


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_ranks_keep_the_order_of_64_bit_numbers(numbers):
    labels, _ = from_text("label", list(map(str, numbers)))
    assert labels.values.tolist() == [sorted(set(numbers)).index(number) for number in numbers]


def test_beside_a_continuous_factor_value_indices_are_floats_too():
    values, factors, _ = table(a=["5", "6", "nan"], b=["0.5", "", "1"])
    np.testing.assert_array_equal(values, [[0.0, 0.5], [1.0, np.nan], [-1.0, 1.0]])
    assert factors == (Factor("a", 2), Factor("b", 0))


def test_there_may_be_more_words_than_occur():
    labels, _ = from_text("a", ["0", "1", "0"])
    assert factor_table([labels], {"a": ("x", "y", "z")}) == (Factor("a", 3),)


def test_no_columns_make_a_table_of_no_columns():
    values, factors, _ = table()
    assert (values.shape, factors) == ((3, 0), ())


def test_a_factor_that_is_known_nowhere_is_refused():
    with pytest.raises(DataError, match="'a'"):
        table(a=["", "nan"])
