"""What is asked of every subset, those still to be written among them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.datasets.grid_columns import GRID, GRID_FACTORS
from tests.discovery import concrete_subclasses
from unbraid.datasets.subsets import (
    ChosenValues,
    HeldOutCombinations,
    OuterValues,
    RandomSplit,
    RowRange,
    Rows,
    Subset,
    Threshold,
)
from unbraid.datasets.subsets.subset import whole_share
from unbraid.errors import DataError


@pytest.fixture
def examples(tmp_path):
    np.save(tmp_path / "rows.npy", np.array([0, 3, 59]))
    found = [
        ChosenValues("shape", (0, 2)),
        HeldOutCombinations(("shape", "scale"), ((1, 1),)),
        OuterValues("scale", "shape", 1),
        RandomSplit(0.75),
        RowRange(5, 20),
        Rows(str(tmp_path / "rows.npy")),
        Threshold("scale", value=2.0),
    ]
    assert [type(each) for each in found] == concrete_subclasses(Subset), "add an example of the new subset"
    return found


def test_the_two_parts_hold_every_image_once(examples):
    for subset in examples:
        parts = [replace(subset, part=part).rows(GRID_FACTORS, GRID) for part in ("train", "test")]
        assert all(len(part) for part in parts)
        assert sorted(torch.cat(parts).tolist()) == list(range(len(GRID)))


def test_rows_come_in_order_and_the_same_every_time(examples):
    for subset in examples:
        rows = subset.rows(GRID_FACTORS, GRID)
        assert torch.equal(rows, rows.sort().values)
        assert torch.equal(rows, subset.rows(GRID_FACTORS, GRID))


def test_an_empty_part_is_refused():
    with pytest.raises(
        DataError,
        match="60 images",
    ):
        Threshold("scale", value=-1.0).rows(GRID_FACTORS, GRID)
    with pytest.raises(DataError, match="RowRange"):
        RowRange(part="test").rows(GRID_FACTORS, GRID)


@pytest.mark.parametrize(
    ("fraction", "count", "expected"), [(0.8, 809, 647), (0.29, 100, 29), (0.7, 10, 7), (0.5, 3, 1), (0.1, 9, 0)]
)
def test_a_fraction_is_rounded_down_but_not_because_it_was_rounded_before(fraction, count, expected):
    assert whole_share(fraction, count) == expected
