"""The FactorVAE score: known answers, laws, peers' bugs, and what it refuses."""

import dataclasses

import numpy as np
import pytest
import torch

from unbraid.codes import Codes, Labels
from unbraid.errors import SpecError
from unbraid.metrics.factor_vae_score import (
    FactorVAEScore,
    active_latents,
    normalized_variances,
    vote_is_right,
    vote_table,
    votes,
    weighted_variance,
)

SMALL = FactorVAEScore(batch_size=16, num_train=300, num_test=200)


def grid(num_dead=0):
    """Four values times five, each read off one latent of its own; then latents that never move."""
    v, w = (part.flatten() for part in torch.meshgrid(torch.arange(4), torch.arange(5), indexing="ij"))
    mean = torch.stack([v - 1.5, (w - 2) * 0.8, *[torch.full((20,), 0.3)] * num_dead], dim=1).double()
    return Codes(mean, torch.full_like(mean, 0.1), factors=(Labels("v", v), Labels("w", w)))


def noisy(seed=0):
    codes = grid()
    noise = torch.randn(20, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return dataclasses.replace(codes, mean=torch.cat([codes.mean, codes.mean], dim=1) + noise, std=None)


# Known answers


def test_one_latent_for_each_factor_scores_one():
    score = SMALL(grid())
    assert score.value == 1
    assert score.per_factor == {"v": 1, "w": 1}
    table = score.tables["votes"]
    assert table.sum() == 300
    assert float(table[0, 1] + table[1, 0]) == 0
    assert score.parts["num_active"].value == 2


def test_votes_and_majority_by_hand():
    """The slow way, in loops, with numpy."""
    codes, generator = noisy(), torch.Generator().manual_seed(1)
    batches, factor = (
        torch.randint(0, 20, (50, 6), generator=generator),
        torch.randint(0, 2, (50,), generator=generator),
    )
    mean = codes.mean.numpy()
    expected = [
        int(np.argmin([mean[batch, i].var() / mean[:, i].var() for i in range(4)])) for batch in batches.numpy()
    ]
    variance = weighted_variance(codes.mean)
    vote = votes(normalized_variances(codes.mean, batches, variance), active_latents(variance))
    assert vote.tolist() == expected
    table = vote_table(vote, factor, 4, 2)
    counts = np.zeros((4, 2))
    for latent, k in zip(expected, factor.tolist(), strict=True):
        counts[latent, k] += 1
    np.testing.assert_array_equal(table.numpy(), counts)
    assert float(vote_is_right(table, vote, factor).mean()) == pytest.approx(counts.max(axis=1).sum() / 50)


def test_nothing_alive_scores_zero():
    codes = grid()
    score = SMALL(dataclasses.replace(codes, mean=codes.mean * 1e-3))
    assert score.value == 0
    assert score.parts["num_active"].value == 0
    assert "the score is 0" in score.notes[-1]


# Bugs of other libraries


def test_a_dead_latent_does_not_win_every_vote():
    """disentanglement_lib prunes nothing by default: 0 / 0 is NaN, which is numpy's least element, so the dead latent
    takes all votes.
    """
    codes, plain = grid(num_dead=1), grid()
    mean = codes.mean.numpy()
    batch = mean[:5]
    with np.errstate(invalid="ignore"):
        assert np.argmin(batch.var(axis=0) / mean.var(axis=0)) == 2
    assert SMALL(codes).value == SMALL(plain).value == 1
    assert dataclasses.replace(SMALL, min_std=0.0)(codes).value == 1


def test_the_number_of_active_latents_is_that_of_the_active_ones():
    """disentanglement_lib reports the length of the mask, which is the number of all latents."""
    score = SMALL(grid(num_dead=3))
    assert score.parts["num_active"].value == 2
    assert score.parts["num_active"].interval == (2, 2)


# Laws


def test_score_ignores_scale_and_offset_of_latents():
    codes = noisy()
    moved = dataclasses.replace(codes, mean=codes.mean * torch.tensor([3.0, -1.0, 10.0, 0.5]) + 7)
    assert SMALL(moved).value == SMALL(codes).value


@pytest.mark.parametrize("order", [[1, 0, 3, 2], [3, 2, 1, 0]])
def test_score_ignores_the_order_of_latents(order):
    codes = noisy()
    assert SMALL(dataclasses.replace(codes, mean=codes.mean[:, order])).value == SMALL(codes).value


def test_weights_count_like_repetitions():
    mean = noisy().mean
    counts = 1 + torch.arange(20) % 3
    torch.testing.assert_close(
        weighted_variance(mean, counts.double()), mean.repeat_interleave(counts, dim=0).var(dim=0, correction=0)
    )


def test_images_without_weight_or_label_do_not_vote():
    codes = grid()
    mean = torch.cat([codes.mean, 1e3 * torch.randn(5, 2, generator=torch.Generator().manual_seed(0)).double()])
    factors = tuple(dataclasses.replace(f, values=torch.cat([f.values, torch.arange(5) % 2])) for f in codes.factors)
    counts = torch.cat([torch.ones(20), torch.zeros(5)])
    assert SMALL(Codes(mean, factors=factors, weights=counts)).value == 1
    partly = tuple(dataclasses.replace(f, known=counts > 0) for f in factors)
    assert SMALL(Codes(mean, factors=partly)).value == 1


# What it refuses and warns of


def test_a_negative_floor_is_refused():
    with pytest.raises(SpecError, match="0 or more"):
        FactorVAEScore(min_std=-1.0)
