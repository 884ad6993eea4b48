"""Discrete latents: their categories are the bins."""

import math

import pytest
import torch

from unbraid.information.quantized import discrete_information, discrete_statistics
from unbraid.information.value_table import ValueTable


def test_certain_categories_have_the_information_of_a_table():
    labels, category = torch.tensor([0, 0, 1, 1, 2, 2]), torch.tensor([0, 0, 1, 1, 1, 1])
    found = discrete_information(
        [torch.nn.functional.one_hot(category).double()], ValueTable.from_assignments((labels,), 6)
    )
    h = -(1 / 3 * math.log(1 / 3) + 2 / 3 * math.log(2 / 3))
    assert float(found.entropy) == pytest.approx(h)
    assert float(found.mutual_information) == pytest.approx(h)  # the category is a function of the label
    assert float(found.entropy_given_image) == 0


def test_a_noisy_channel_has_its_capacity():
    """Two equally likely values, each read off wrongly with probability e: log 2 - H(e)."""
    e = 0.1
    table = torch.tensor([[1 - e, e], [e, 1 - e]], dtype=torch.float64)
    found = discrete_information([table], ValueTable.from_assignments((torch.arange(2),), 2))
    h_e = -(e * math.log(e) + (1 - e) * math.log(1 - e))
    assert float(found.mutual_information) == pytest.approx(math.log(2) - h_e)
    assert float(found.informativeness) == pytest.approx(math.log(2) - h_e)
    assert float(found.entropy_given_value) == pytest.approx(h_e)


def test_latents_of_different_sizes_stand_side_by_side():
    tables = [torch.full((4, 2), 0.5), torch.full((4, 3), 1 / 3)]
    found = discrete_information(tables, ValueTable.from_assignments((torch.arange(4) % 2,), 4))
    torch.testing.assert_close(found.entropy, torch.tensor([2.0, 3.0]).double().log())
    torch.testing.assert_close(found.mutual_information, torch.zeros(2, 1).double(), atol=1e-12, rtol=0)


def test_weights_count():
    table = torch.eye(2, dtype=torch.float64)
    sums = discrete_statistics(table, ValueTable.from_assignments((), 2, torch.tensor([1.0, 3.0])))
    torch.testing.assert_close(sums.marginal, torch.tensor([[0.25, 0.75]]).double())
