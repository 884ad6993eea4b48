"""Fleets after some steps, for the tests of training."""

import functools
from dataclasses import replace

from tests.training.squares import MLP_SPEC
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.state import Member

ABSURD = replace(MLP_SPEC, optimizer=Adam(1e30))
"""It diverges at its second step."""


@functools.cache
def trained(members, num_steps=10, device="cpu"):
    """A fleet after so many steps. Shared between tests: read it, do not advance it."""
    fleet = Fleet(members, members[0].spec.dataset.load(device))
    for _ in range(num_steps):
        fleet.advance()
    return fleet


def alone(spec, seed, num_steps=10):
    return trained((Member(spec, seed),), num_steps).weights[0]


def seeds_of(spec, *seeds):
    return tuple(Member(spec, seed) for seed in seeds)
