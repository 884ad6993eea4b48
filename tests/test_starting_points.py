"""Every named starting point builds, takes a step, and can be typed."""

import functools
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.discovery import concrete_subclasses
from unbraid.data import DSprites
from unbraid.errors import SpecError
from unbraid.objectives import AnchorVAE, BetaSVAE, Composite, DecomposedELBO, Objective
from unbraid.starting_points import names, starting_point
from unbraid.training import Fleet, Member

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence.md"
FEW = DSprites(resolution=16, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=4)
WITHOUT = {AnchorVAE, BetaSVAE, Composite, DecomposedELBO}
"""Objectives that are settings of others, or need a choice that only the user can make: no starting point."""


@functools.cache
def spec_of(name):
    """Built once: that takes a quarter of a second."""
    return starting_point(name)


@pytest.mark.parametrize("name", names())
def test_it_builds_and_takes_a_step_to_finite_weights(name):
    spec = spec_of(name)
    few = replace(FEW, resolution=spec.dataset.resolution)
    small = replace(spec, dataset=few, batch_size=4)
    fleet = Fleet([Member(small, 0)], few.load())
    before = fleet.weights.clone()
    losses = fleet.advance()
    assert bool(fleet.alive.all())
    assert all(bool(torch.isfinite(loss).all()) for loss in losses.values())
    assert bool(torch.isfinite(fleet.weights).all())
    assert not torch.equal(fleet.weights, before)


def test_every_objective_has_one_on_sprites_and_one_on_dsprites():
    specs = {name: spec_of(name) for name in names()}
    for where in ("-sprites", "-dsprites"):
        classes = {type(spec.objective) for name, spec in specs.items() if name.endswith(where)}
        assert classes == {cls for cls in concrete_subclasses(Objective) if not cls.__module__.startswith("tests")} - (
            WITHOUT
        )


def test_on_sprites_none_takes_longer_than_20000_steps():
    assert all(spec_of(name).num_steps <= 20_000 for name in names() if name.endswith("-sprites"))


@pytest.mark.parametrize("name", ["infogan", "infogan-sprite", "sprites", "-sprites", ""])
def test_a_name_that_is_none_is_refused_with_those_that_are(name):
    with pytest.raises(SpecError, match=f"There is no starting point '{name}'.*infogan-sprites"):
        starting_point(name)


def test_the_page_has_a_row_for_every_one():
    page = EVIDENCE.read_text("utf-8")
    included = re.findall(r"<!-- from (benchmarks/results/starting_points_\w+\.md): table -->", page)
    tables = [(ROOT / name).read_text("utf-8") for name in included]
    assert {name for table in tables for name in re.findall(r"^\| `([a-z-]+)`", table, re.MULTILINE)} == set(names())
