"""Claims are wrongly decided in at most 5 % of simulated studies: 400 of each kind, at 8 seeds."""

import math

import pytest

from benchmarks.claim_levels import DISTRIBUTIONS, EQUAL, LEVEL, SHIFTED, family_rates, rates

NUM_STUDIES = 400
BOUND = LEVEL + 3 * math.sqrt(LEVEL * (1 - LEVEL) / NUM_STUDIES)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("cell", [*EQUAL, *SHIFTED], ids=lambda cell: f"{cell.name} {cell.claim.region}")
def test_at_the_border_few_claims_are_decided(cell, distribution):
    supported, contradicted = rates(cell, distribution, 8, NUM_STUDIES)
    assert supported <= BOUND
    assert contradicted <= BOUND


@pytest.mark.slow
def test_of_five_claims_together_few_are_decided():
    assert max(family_rates(8, NUM_STUDIES)) <= BOUND


def test_true_claims_are_supported():
    claimed = next(cell for cell in EQUAL if cell.name == "difference")
    shifted = next(cell for cell in SHIFTED if cell.name == "difference")
    rate, _ = rates(type(claimed)("power", claimed.claim, shifted.draw), "normal", 8, 50)
    assert rate > 0.9  # two standard deviations apart
