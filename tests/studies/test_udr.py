"""UDR: known answers for codes that match, that are mixed, and that say nothing."""

import numpy as np
import pytest
import torch
from scipy import stats

from unbraid.codes import Codes
from unbraid.errors import CodesError
from unbraid.studies.seed_agreement import udr_scores

GENERATOR = torch.Generator().manual_seed(5)
TRUE = torch.randn(400, 3, generator=GENERATOR)


def codes(mean, std=0.1):
    return Codes(mean, torch.full_like(mean, std))


def test_permuted_and_negated_latents_match_one_to_one():
    found = udr_scores({0: codes(TRUE), 1: codes(-TRUE[:, [2, 0, 1]])})
    assert found[0] == found[1]
    assert found[0] == pytest.approx(1.0, abs=0.15)


def test_rotated_latents_match_less():
    rotation, _ = torch.linalg.qr(torch.randn(3, 3, generator=GENERATOR))
    same, mixed = (udr_scores({0: codes(TRUE), 1: codes(other)})[0] for other in (TRUE, TRUE @ rotation))
    assert mixed < 0.75 < same


def test_unused_latents_are_left_out():
    noise = torch.cat([TRUE, 0.001 * torch.randn(400, 2, generator=GENERATOR)], dim=1)
    std = torch.cat([torch.full((400, 3), 0.1), torch.ones(400, 2)], dim=1)
    assert udr_scores({0: codes(TRUE), 1: Codes(noise, std)}) == udr_scores({0: codes(TRUE), 1: codes(TRUE)})


def test_a_model_without_used_latents_has_0():
    collapsed = Codes(torch.zeros(400, 3), torch.ones(400, 3))
    assert udr_scores({0: codes(TRUE), 1: collapsed}) == {0: 0.0, 1: 0.0}


def test_it_is_what_the_formula_says_by_loops():
    one, two = TRUE @ torch.tensor([[1, 0.5, 0], [0, 1, 0.2], [0.3, 0, 1]]), TRUE**3 + 0.3 * TRUE[:, [1, 2, 0]]
    table = np.array([[abs(stats.spearmanr(one[:, a], two[:, b])[0]) for b in range(3)] for a in range(3)])
    by_column = np.mean(
        [max(table[a, b] for a in range(3)) ** 2 / sum(table[a, b] for a in range(3)) for b in range(3)]
    )
    by_row = np.mean([max(table[a]) ** 2 / sum(table[a]) for a in range(3)])
    assert udr_scores({0: codes(one), 1: codes(two)})[0] == pytest.approx((by_column + by_row) / 2)


def test_the_score_is_the_median_over_the_other_models():
    models = {0: codes(TRUE), 1: codes(TRUE), 2: codes(torch.randn(400, 3, generator=GENERATOR))}
    pairs = [udr_scores({0: models[0], 1: models[other]})[0] for other in (1, 2)]
    assert udr_scores(models)[0] == pytest.approx(np.median(pairs))


def test_one_model_or_other_images_are_refused():
    with pytest.raises(CodesError, match="two or more"):
        udr_scores({0: codes(TRUE)})
    with pytest.raises(CodesError, match="same images"):
        udr_scores({0: codes(TRUE), 1: codes(TRUE[:100])})
