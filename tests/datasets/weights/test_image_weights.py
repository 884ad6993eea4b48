"""From tables to weights of images."""

import logging
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.datasets.grid_columns import GRID, GRID_FACTORS, grid
from unbraid.datasets.dataset import Factor
from unbraid.datasets.weights import ChenDesign, Correlated, JointTable, UniformJoint, image_weights
from unbraid.errors import DataError, SpecError


def joint_of(weights, values, *places):
    """The distribution of some columns, from the weights."""
    sizes = [int(values[:, place].max()) + 1 for place in places]
    table = torch.zeros(sizes, dtype=torch.float64)
    table.index_put_(tuple(values[:, place] for place in places), weights, accumulate=True)
    return table


def test_chosen_factors_have_the_table_and_the_others_stay_uniform_given_them():
    joint = ChenDesign("D", ("place", "scale"))
    weights = image_weights(joint, GRID_FACTORS, GRID)
    assert weights.dtype == torch.float64
    assert float(weights.sum()) == pytest.approx(1, abs=1e-14)
    torch.testing.assert_close(joint_of(weights, GRID, 2, 1), joint.table((5, 4)), rtol=1e-13, atol=0)
    conditional = joint_of(weights, GRID, 0, 2, 1) / joint.table((5, 4))
    torch.testing.assert_close(conditional, torch.full((3, 5, 4), 1 / 3, dtype=torch.float64), rtol=1e-13, atol=0)


@given(counts=st.lists(st.integers(0, 5), min_size=12, max_size=12).filter(any), seed=st.integers(0, 9))
def test_images_that_are_no_grid_share_the_probability_of_their_combination(counts, seed):
    """Some combinations are shown by several images and some by none: the table, given that there is an image."""
    values = grid(3, 4).repeat_interleave(torch.tensor(counts), dim=0)
    shares = torch.rand(12, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 0.1
    joint = JointTable.from_array(("shape", "scale"), shares.reshape(3, 4))
    weights = image_weights(joint, GRID_FACTORS[:2], values)
    present = torch.where(torch.tensor(counts) > 0, shares, 0.0)
    expected = (present / present.sum() / torch.tensor(counts).clamp(min=1)).repeat_interleave(torch.tensor(counts))
    torch.testing.assert_close(weights, expected, rtol=1e-12, atol=0)


def test_weights_that_the_images_have_count_within_a_combination():
    values, base = torch.tensor([[0], [0], [1], [1]]), torch.tensor([1.0, 3.0, 2.0, 2.0])
    weights = image_weights(JointTable(("a",), (0.2, 0.8)), (Factor("a", 2),), values, base)
    torch.testing.assert_close(weights, torch.tensor([0.05, 0.15, 0.4, 0.4], dtype=torch.float64))


def test_uniform_evens_out_what_is_shown_more_often():
    values = torch.tensor([[0], [0], [0], [1]])
    assert image_weights(UniformJoint(("a",)), (Factor("a", 2),), values).tolist() == pytest.approx(
        [1 / 6, 1 / 6, 1 / 6, 1 / 2]
    )


def test_discrete_factors_beside_a_continuous_one_are_floats_and_count_all_the_same():
    factors, values = (Factor("a", 2), Factor("depth", 0)), torch.tensor([[0.0, 0.31], [1.0, -2.5], [1.0, 7.0]])
    assert image_weights(UniformJoint(("a",)), factors, values).tolist() == pytest.approx([0.5, 0.25, 0.25])


def test_combinations_that_no_image_shows_are_told_and_the_others_drawn_more_often(caplog):
    values = GRID[(GRID[:, 0] != 2) | (GRID[:, 1] != 3)]
    with caplog.at_level(logging.WARNING):
        weights = image_weights(UniformJoint(("shape", "scale")), GRID_FACTORS, values)
    (told,) = caplog.messages
    assert told.startswith("UniformJoint over shape, scale: 1 of 12 combinations, with a total probability of 0.0833, ")
    assert float(weights.sum()) == pytest.approx(1, abs=1e-14)
    torch.testing.assert_close(weights, torch.full_like(weights, 1 / 55))


def test_combinations_of_probability_zero_need_no_image(caplog):
    weights = image_weights(JointTable(("a",), (1.0, 0.0)), (Factor("a", 2),), torch.tensor([[0], [0]]))
    assert weights.tolist() == [0.5, 0.5]
    assert not caplog.messages


def test_a_table_that_no_image_meets_is_refused():
    with pytest.raises(SpecError, match="no image has"):
        image_weights(JointTable(("a",), (0.0, 1.0)), (Factor("a", 2),), torch.tensor([[0], [0]]))


def test_an_image_of_base_weight_zero_is_no_image():
    factors, values = (Factor("a", 2),), torch.tensor([[0], [0], [1]])
    assert image_weights(
        UniformJoint(("a",)), factors, values, torch.tensor([0.0, 2.0, 1.0])
    ).tolist() == pytest.approx([0, 0.5, 0.5])


@pytest.mark.parametrize("value", [-2, 2])
def test_values_outside_their_factor_are_refused(value):
    with pytest.raises(DataError, match="0 to 1"):
        image_weights(UniformJoint(("a",)), (Factor("a", 2),), torch.tensor([[0], [1], [value]]))


def test_the_entropy_of_the_weights_is_that_of_the_table_and_of_what_it_leaves_uniform():
    """H(p), which takes the place of log N."""
    joint = Correlated(("scale", "place"), 0.2)
    weights, table = image_weights(joint, GRID_FACTORS, GRID), joint.table((4, 5))
    expected = float(-torch.xlogy(table, table).sum()) + math.log(3)
    assert float(-torch.xlogy(weights, weights).sum()) == pytest.approx(expected, abs=1e-12)
