"""Labels as text; `test_csv_file` reads them from whole tables."""

import numpy as np
import pytest

from unbraid.codes import Labels
from unbraid.errors import CodesError


def labels(*cells, ordered=True):
    words, places = np.unique(cells, return_inverse=True)
    return Labels.from_text("label", words.tolist(), places, ordered=ordered)


@pytest.mark.parametrize("cell", ["1_000", "٣", "0x10", "1 2", "one"])
def test_what_only_looks_like_a_number_is_a_word(cell):
    assert not labels("1", cell).ordered


def test_numbers_without_an_order_keep_their_values_if_they_are_whole():
    assert labels("7", "3", "7", ordered=False).values.tolist() == [7, 3, 7]
    assert labels("0.5", "-1", "0.5", ordered=False).values.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        (["1.5", "inf"], "NaN or infinite"),
        (["1.5", "1e999"], "NaN or infinite"),
        (["9223372036854775808"], "Factor 'label'"),
        (["-" + "9" * 5000], "Factor 'label'"),
        (["1", " 2"], "Factor 'label' has the label ' 2'"),
    ],
)
def test_labels_that_are_no_numbers_of_64_bits_are_refused(cells, match):
    with pytest.raises(CodesError, match=match):
        labels(*cells)
