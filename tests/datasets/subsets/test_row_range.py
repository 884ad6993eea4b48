"""Splits by index."""

import pytest
import torch

from unbraid.datasets.subsets import RowRange
from unbraid.errors import SpecError

VALUES = torch.zeros(10, 0, dtype=torch.int64)


@pytest.mark.parametrize(
    ("subset", "expected"), [(RowRange(2, 5), [2, 3, 4]), (RowRange(8), [8, 9]), (RowRange(stop=2), [0, 1])]
)
def test_rows_from_start_up_to_stop(subset, expected):
    assert subset.rows((), VALUES).tolist() == expected


def test_the_rest_may_lie_on_both_sides():
    assert RowRange(1, 9, "test").rows((), VALUES).tolist() == [0, 9]


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (3, 3), (3, 2)])
def test_rows_that_do_not_follow_one_another_are_refused(start, stop):
    with pytest.raises(SpecError, match="expected a start of 0 or more and a stop beyond it"):
        RowRange(start, stop)


@pytest.mark.parametrize("subset", [RowRange(10), RowRange(0, 11)])
def test_rows_beyond_the_images_are_refused_before_they_are_loaded(subset):
    with pytest.raises(SpecError, match=r"and there are 10 images\. Give a start below 10 and a stop of at most 10\."):
        subset.check((), 10)
