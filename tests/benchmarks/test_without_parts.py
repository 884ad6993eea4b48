"""The benchmark times a fleet's step with a part of the library and without."""

import pytest
import torch

from benchmarks import without_parts
from unbraid.information.gaussian_mixture import gaussian_log_aggregate
from unbraid.models.layers import matrix_products
from unbraid.objectives import decomposed_elbo

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("part", ["", *without_parts.PARTS])
def test_a_fleet_trains_with_and_without_a_part(part, monkeypatch):
    for module, name in ((decomposed_elbo, "gaussian_log_aggregate"), (matrix_products, "are_used_for")):
        monkeypatch.setattr(module, name, getattr(module, name))  # put back after the test
    assert without_parts.measured_here(0, part, "cpu", small=True)["milliseconds"] > 0


def test_the_table_of_pairs_has_the_values_of_the_kernels():
    generator = torch.Generator().manual_seed(0)
    z, loc, log_var = (torch.randn(7, 3, generator=generator, dtype=torch.float64) for _ in range(3))
    log_weights = torch.randn(7, 7, generator=generator, dtype=torch.float64)
    for ours, table in zip(
        gaussian_log_aggregate(z, loc, log_var, log_weights),
        without_parts.table_of_pairs(z, loc, log_var, log_weights),
        strict=True,
    ):
        torch.testing.assert_close(ours, table)


@pytest.mark.parametrize("part", without_parts.PARTS)
def test_every_part_names_fleets_that_there_are(part):
    titles = [row.title for row in without_parts.every_row()]
    assert all(any(title.startswith(rows) for title in titles) for rows in without_parts.PARTS[part])
