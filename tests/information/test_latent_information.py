"""Entropies of tables."""

import math

import pytest
import torch

from unbraid.information.latent_information import entropy, information_of_tables, joined


def test_entropy_of_a_uniform_table_is_the_log_of_its_size():
    assert float(entropy(torch.ones(7, dtype=torch.float64))) == pytest.approx(math.log(7))


def test_entropy_of_one_value_is_zero_and_of_none_undefined():
    assert float(entropy(torch.tensor([0.0, 3.0], dtype=torch.float64))) == pytest.approx(0)
    assert math.isnan(float(entropy(torch.zeros(2, dtype=torch.float64))))


def test_a_bijection_says_everything_and_a_product_nothing():
    bijection = torch.eye(4, dtype=torch.float64)[None] / 4
    product = torch.full((1, 4, 4), 1 / 16, dtype=torch.float64)
    information = information_of_tables(bijection.sum(dim=2), (bijection, product), torch.zeros(1, dtype=torch.float64))
    torch.testing.assert_close(information.mutual_information, torch.tensor([[math.log(4), 0.0]], dtype=torch.float64))
    torch.testing.assert_close(
        information.joint_entropy, torch.tensor([[math.log(4), math.log(16)]], dtype=torch.float64)
    )
    torch.testing.assert_close(information.informativeness, torch.tensor([math.log(4)], dtype=torch.float64))


def test_without_factors_there_is_still_an_entropy():
    information = information_of_tables(torch.ones(2, 5, dtype=torch.float64), (), torch.zeros(2, dtype=torch.float64))
    assert information.mutual_information.shape == (2, 0)
    torch.testing.assert_close(information.entropy, torch.full((2,), math.log(5), dtype=torch.float64))


def test_every_value_that_occurs_counts_once_in_the_entropy_given_a_value():
    """Value 0, 9 times of 10, leaves two bins open; value 1 none; value 2 never occurs."""
    joint = torch.tensor([[[0.45, 0.1, 0.0], [0.45, 0.0, 0.0]]], dtype=torch.float64)
    information = information_of_tables(joint.sum(dim=2), (joint,), torch.zeros(1, dtype=torch.float64))
    assert float(information.entropy_given_value) == pytest.approx(math.log(2) / 2)
    assert float(information.entropy - information.mutual_information[0]) == pytest.approx(0.9 * math.log(2))
    assert information.num_values.tolist() == [2]


def test_joined_latents_keep_their_order_and_share_their_factors():
    tables = [torch.eye(4, dtype=torch.float64)[None] / 4, torch.full((1, 4, 4), 1 / 16, dtype=torch.float64)]
    parts = [information_of_tables(table.sum(dim=2), (table,), torch.zeros(1, dtype=torch.float64)) for table in tables]
    both = joined(parts)
    torch.testing.assert_close(both.mutual_information, torch.tensor([[math.log(4)], [0.0]], dtype=torch.float64))
    assert both.factor_entropy.shape == both.num_values.shape == (1,)
    assert both.entropy.shape == both.entropy_given_image.shape == (2,)
