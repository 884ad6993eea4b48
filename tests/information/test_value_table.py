"""The labels as a table of p(n) p(v | n)."""

import pytest
import torch

from unbraid.errors import CodesError
from unbraid.information import value_table
from unbraid.information.value_table import ValueTable

HARD = torch.tensor([0, 1, -1, 1])
SOFT = torch.tensor([[0.5, 0.5], [0.0, 0.0], [1.0, 0.0], [0.25, 0.75]], dtype=torch.float64)
P = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
TABLE = torch.tensor(
    [[0.1, 0.1, 0.0, 0.05, 0.05], [0.2, 0.0, 0.2, 0.0, 0.0], [0.3, 0.0, 0.0, 0.3, 0.0], [0.4, 0.0, 0.4, 0.1, 0.3]],
    dtype=torch.float64,
)


def test_columns_hold_p_of_image_and_value():
    values = ValueTable.from_assignments((HARD, SOFT), 4, P)
    torch.testing.assert_close(values.columns(torch.arange(4)), TABLE)
    torch.testing.assert_close(values.columns(torch.tensor([3, 1])), TABLE[[3, 1]])


@pytest.mark.parametrize("num_places", [1, 7])
def test_grouped_columns_are_sums_of_rows(monkeypatch, num_places):
    values = ValueTable.from_assignments((HARD, SOFT), 4, P)
    scales = torch.tensor([[1.0, 1, 1, 1], [2, 0, -1, 3]], dtype=torch.float64)
    monkeypatch.setattr(value_table, "_ROWS_PER_BLOCK", {"cpu": 3})
    monkeypatch.setattr(value_table, "_NUM_PLACES", {"cpu": num_places})
    found = values.grouped_columns(torch.tensor([0, 2, 0, 2]), 3, lambda rows: list(scales[:, rows]))
    for scale, table in zip(scales, found, strict=True):
        scaled = scale[:, None] * TABLE
        torch.testing.assert_close(
            table,
            torch.stack([scaled[[0, 2]].sum(dim=0), torch.zeros(5, dtype=torch.float64), scaled[[1, 3]].sum(dim=0)]),
        )


@pytest.mark.parametrize("assignments", [(HARD,), (SOFT,), (SOFT, HARD), ()])
def test_masses_are_the_sums_of_all_columns(assignments):
    values = ValueTable.from_assignments(assignments, 4, P)
    torch.testing.assert_close(values.value_masses, values.columns(torch.arange(4)).sum(dim=0))
    assert float(values.value_masses[0]) == pytest.approx(1)


def test_split_and_factor_sums_take_the_table_apart():
    values = ValueTable.from_assignments((HARD, SOFT), 4, P)
    assert [part.shape[1] for part in values.split(TABLE)] == [2, 2]
    torch.testing.assert_close(values.factor_sums(TABLE)[1], torch.tensor([0.2, 0.0], dtype=torch.float64))


def test_weights_are_scaled_to_sum_to_one():
    torch.testing.assert_close(ValueTable.from_assignments((), 4, 7 * P).weights, P)
    torch.testing.assert_close(ValueTable.from_assignments((), 4).weights, torch.full((4,), 0.25, dtype=torch.float64))


def test_a_sample_keeps_a_column_for_values_that_it_misses():
    values = ValueTable.from_assignments((HARD, SOFT), 4, P).sample(
        torch.tensor([0, 0]), torch.tensor([1.0, 3.0]).double()
    )
    assert values.sizes == (2, 2)
    torch.testing.assert_close(values.columns(torch.arange(2)), TABLE[[0, 0]] / 0.1 * torch.tensor([[0.25], [0.75]]))


def test_labels_of_another_length_are_refused():
    with pytest.raises(CodesError, match="expected 5"):
        ValueTable.from_assignments((HARD,), 5)
