"""Categories instead of relaxed codes, with the gradient of the relaxed ones; likeliest codes."""

import torch
from torch.func import grad

from unbraid.codes import Codes
from unbraid.models.categories import columns_of, likeliest, with_categories
from unbraid.models.distributions import BernoulliLatents, ConcreteLatents, GaussianLatents, GroupedLatents

HARD = GroupedLatents((GaussianLatents(1), ConcreteLatents(3, hard=True), BernoulliLatents(2, hard=True)))
LATENTS = GroupedLatents((GaussianLatents(2), ConcreteLatents(3), BernoulliLatents(1)))
Z = torch.tensor([[0.3, 0.1, 0.7, 0.2, 0.6, 0.4], [-2.0, 0.5, 0.2, 0.3, 0.2, 0.9]])


def test_a_category_is_a_one_among_zeros_and_a_binary_latent_is_0_or_1():
    assert with_categories(Z, HARD.widths, HARD.hard_latents).tolist() == [
        [Z[0, 0].item(), 0, 1, 0, 1, 0],
        [-2.0, 1, 0, 0, 0, 1],
    ]


def test_only_the_chosen_latents_change_and_what_comes_after_them_stays():
    noise = torch.tensor([[9.0], [8.0]])
    found = with_categories(torch.cat([Z, noise], dim=1), HARD.widths, (3,))
    assert torch.equal(found, torch.cat([Z[:, :5], torch.tensor([[0.0], [1.0]]), noise], dim=1))
    assert with_categories(Z, HARD.widths, ()) is Z


def test_the_gradient_passes_straight_through():
    weights = torch.arange(12.0).reshape(2, 6)
    found = grad(lambda z: (weights * with_categories(z, HARD.widths, HARD.hard_latents)).sum())(Z)
    assert torch.equal(found, weights)


def test_a_group_numbers_its_hard_latents_through_and_relaxed_ones_are_none():
    assert HARD.hard_latents == (1, 2, 3)
    assert GroupedLatents((GaussianLatents(4), ConcreteLatents(3), BernoulliLatents(1, hard=True))).hard_latents == (5,)


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
