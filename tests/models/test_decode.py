"""Codes as a decoder takes them."""

import torch

from unbraid.codes import Codes
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents
from unbraid.models.trained.decode import columns_of, likeliest

LATENTS = GroupedLatents((GaussianLatents(2), ConcreteLatents(3), BernoulliLatents(1)))


def test_means_come_first_then_the_likeliest_categories():
    codes = Codes.from_arrays(
        mean=[[0.5, -1.0], [2.0, 3.0], [0.0, 0.0]],
        std=[[1.0, 1.0]] * 3,
        probabilities=[[[0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0]], [[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]]],
    )
    assert likeliest(codes, torch.tensor([1, 0]), LATENTS.widths).tolist() == [
        [2.0, 3.0, 0, 0, 1, 1],
        [0.5, -1.0, 0, 1, 0, 0],
    ]


def test_they_are_as_many_columns_as_the_decoder_takes():
    codes = Codes.from_arrays(
        mean=torch.zeros(4, 2), std=torch.ones(4, 2), probabilities=[torch.full((4, 3), 1 / 3), torch.full((4, 2), 0.5)]
    )
    assert likeliest(codes, torch.arange(4), LATENTS.widths).shape == (4, LATENTS.num_columns)


def test_a_category_is_a_one_among_zeros_or_if_binary_a_number():
    assert columns_of(torch.tensor([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    assert columns_of(torch.tensor([1, 0]), 1).tolist() == [[1], [0]]
