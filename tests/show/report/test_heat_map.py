import math
from dataclasses import replace

import pytest
import torch

from unbraid.metrics import Score
from unbraid.show.report.heat_map import MAX_LATENTS, mig_heat_map

INFORMATION = [
    [0.9, 0.0, 0.2],
    [0.1, 0.0, 1.6],
    [0.6, 0.0, 0.0],
]
MIG_SCORE = Score(
    "MIG",
    0.5,
    per_factor={"scale": 0.3, "shape": math.nan, "position": 0.7},
    tables={
        "mutual_information": torch.tensor(INFORMATION, dtype=torch.float64),
        "factor_entropy": torch.tensor([1.0, 0.0, 2.0], dtype=torch.float64),
    },
)


def test_a_cell_is_the_share_of_the_factor_that_the_latent_knows():
    table = mig_heat_map(MIG_SCORE, order=[0, 1, 2])
    assert [[cell.share for cell in cells] for _, cells in table.rows] == [[0.9, 0.1], [0.1, 0.8], [0.6, 0.0]]
    assert table.rows[1][1][1].nats == 1.6
    assert table.entropies == (1.0, 2.0)


def test_the_two_latents_that_make_the_gap_are_marked():
    table = mig_heat_map(MIG_SCORE, order=[0, 1, 2])
    assert [[cell.mark for cell in cells] for _, cells in table.rows] == [[1, 2], [0, 1], [2, 0]]


def test_the_marked_cells_differ_by_the_gap():
    table = mig_heat_map(MIG_SCORE, order=[0, 1, 2])
    for column, gap in enumerate(table.gaps):
        by_mark = {cells[column].mark: cells[column].share for _, cells in table.rows}
        assert by_mark[1] - by_mark[2] == pytest.approx(gap)


def test_a_factor_that_never_varies_is_named_instead_of_drawn():
    table = mig_heat_map(MIG_SCORE, order=[0, 1, 2])
    assert (table.factors, table.constant) == (("scale", "position"), ("shape",))


def test_rows_come_in_the_order_given():
    assert [latent for latent, _ in mig_heat_map(MIG_SCORE, order=[2, 0, 1]).rows] == [2, 0, 1]


def test_a_single_latent_is_first_and_has_no_runner_up():
    tables = {"mutual_information": torch.tensor([[0.5]]).double(), "factor_entropy": torch.tensor([1.0]).double()}
    table = mig_heat_map(Score("MIG", 0.5, per_factor={"scale": 0.5}, tables=tables), order=[0])
    assert table.rows[0][1][0].mark == 1


def test_a_latent_that_knows_most_of_two_factors_is_called_out():
    mixed = torch.tensor([[0.9, 0.0, 1.8], [0.1, 0.0, 0.0]], dtype=torch.float64)
    tables = {**MIG_SCORE.tables, "mutual_information": mixed}
    assert mig_heat_map(replace(MIG_SCORE, tables=tables), order=[0, 1]).shared == [(0, ["scale", "position"])]
    assert mig_heat_map(MIG_SCORE, order=[0, 1, 2]).shared == []


def test_a_latent_past_the_limit_is_kept_if_it_makes_a_gap():
    num_latents = MAX_LATENTS + 4
    information = torch.zeros(num_latents, 1, dtype=torch.float64)
    information[-1] = 0.8
    score = Score(
        "MIG",
        0.8,
        per_factor={"a": 0.8},
        tables={"mutual_information": information, "factor_entropy": torch.ones(1).double()},
    )
    table = mig_heat_map(score, order=list(range(num_latents)))
    assert [latent for latent, _ in table.rows] == [*range(MAX_LATENTS), num_latents - 1]
    assert table.num_hidden == 3
