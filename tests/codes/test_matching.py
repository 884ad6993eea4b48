"""Latents of two encoders, matched: known answers, a slow search, and what takes no part."""

import itertools
import math

import pytest
import torch

from unbraid.codes import Codes
from unbraid.codes.matching import match_latents
from unbraid.errors import CodesError

GENERATOR = torch.Generator().manual_seed(3)
TRUE = torch.randn(300, 4, generator=GENERATOR, dtype=torch.float64)


def pairs(matching):
    return {pair.first: pair.second for pair in matching.pairs}


def test_order_sign_and_scale_are_undone():
    matching = match_latents(Codes(TRUE), Codes(TRUE[:, [2, 0, 3, 1]] * torch.tensor([-3.0, 1, 0.5, -1]) + 7))
    assert pairs(matching) == {0: 1, 1: 3, 2: 0, 3: 2}
    assert [pair.correlation for pair in matching.pairs] == pytest.approx([1, -1, -1, 1])
    assert matching.agreement == pytest.approx(1)
    assert matching.partners[2].second == 0


@pytest.mark.parametrize("num_others", [3, 4, 5])
def test_it_is_what_a_slow_search_over_all_assignments_finds(num_others):
    others = TRUE @ torch.randn(4, num_others, generator=GENERATOR, dtype=torch.float64)
    table = torch.corrcoef(torch.cat([TRUE, others], dim=1).T)[:4, 4:].abs()
    count = min(4, num_others)
    best = max(
        sum(float(table[row, column]) for row, column in zip(rows, columns, strict=True))
        for rows in itertools.combinations(range(4), count)
        for columns in itertools.permutations(range(num_others), count)
    )
    matching = match_latents(Codes(TRUE), Codes(others))
    assert len(matching.pairs) == count
    assert matching.agreement == pytest.approx(best / count)
    for pair in matching.pairs:
        assert abs(pair.correlation) == pytest.approx(float(table[pair.first, pair.second]))


def test_a_greedy_choice_would_be_worse():
    """Latent 0 correlates most with 0, and still gives it up: 0.9 + 0.1 is less than 0.8 + 0.8."""
    a, b, noise = TRUE[:, 0], TRUE[:, 1], TRUE[:, 2:]
    first = torch.stack([a + b, a], dim=1)
    second = torch.stack([a, a + b + 0.8 * noise[:, 0]], dim=1)
    assert pairs(match_latents(Codes(first), Codes(second))) == {0: 1, 1: 0}


def test_dead_latents_have_no_partner():
    dead = torch.cat([1e-3 * TRUE[:, :1], TRUE[:, [1, 2, 3]]], dim=1)
    assert pairs(match_latents(Codes(TRUE), Codes(dead))).items() >= {(1, 1), (2, 2), (3, 3)}
    assert 0 not in pairs(match_latents(Codes(TRUE), Codes(dead)))
    assert pairs(match_latents(Codes(TRUE), Codes(dead), min_std=0))[0] == 0
    nothing = match_latents(Codes(TRUE), Codes(torch.zeros(300, 2)), min_std=0)
    assert (nothing.pairs, math.isnan(nothing.agreement)) == ((), True)


def test_images_count_by_their_weights():
    swapped = torch.cat([TRUE[:150], TRUE[150:][:, [1, 0, 2, 3]]])
    weights = torch.cat([torch.zeros(150), torch.ones(150)])
    assert pairs(match_latents(Codes(TRUE, weights=weights), Codes(swapped)))[0] == 1
    assert pairs(match_latents(Codes(TRUE, weights=1 - weights), Codes(swapped)))[0] == 0


def test_other_images_are_refused():
    with pytest.raises(CodesError, match="300 and 200"):
        match_latents(Codes(TRUE), Codes(TRUE[:200]))
    with pytest.raises(CodesError, match="min_std is -1"):
        match_latents(Codes(TRUE), Codes(TRUE), min_std=-1)
