"""The best latent of each factor and the second best."""

import math

import torch

from unbraid.metrics.reductions.gaps import among_factors, top_two, varies


def table(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def test_the_two_largest_of_each_column():
    found = top_two(table([1.0, 5.0], [3.0, 4.0], [2.0, 9.0]))
    assert found.first.tolist() == [3, 9]
    assert found.second.tolist() == [2, 5]
    assert found.top.tolist() == [1, 2]
    assert found.gap.tolist() == [1, 4]


def test_of_latents_that_tie_the_first_is_the_top():
    assert top_two(table(*[[0.5]] * 40)).top.tolist() == [0]


def test_a_single_latent_has_a_runner_up_of_zero():
    assert top_two(table([0.7])).gap.tolist() == [0.7]


def test_factors_without_entropy_are_left_out():
    entropy = torch.tensor([0.0, 1e-16, 3e-11, 1.0, math.nan]).double()
    assert varies(entropy).tolist() == [False, False, True, True, False]


def test_columns_take_the_places_of_their_factors_and_others_are_nan():
    found = among_factors(table([1.0, 2.0]), (2, 0), 3)
    assert found[0, [2, 0]].tolist() == [1, 2]
    assert found.isnan().tolist() == [[False, True, False]]
