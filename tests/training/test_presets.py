"""Every named preset builds, takes a step, and can be typed."""

import functools
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from unbraid.datasets import DSprites
from unbraid.errors import SpecError
from unbraid.training import Fleet, Member
from unbraid.training.presets import preset, preset_names
from unbraid.training.runs import RunSpec

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "docs" / "evidence.md"
FEW = DSprites(resolution=16, shapes=("heart",), num_scales=2, num_orientations=1, num_positions=4)


@functools.cache
def spec_of(name):
    """Built once: that takes a quarter of a second."""
    return preset(name)


@pytest.mark.parametrize("name", preset_names())
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


@pytest.mark.parametrize("name", preset_names())
def test_bf16_is_chosen_on_a_gpu_alone(name, monkeypatch):
    """On a CPU it is several times slower than float32."""
    assert preset(name, "cpu").precision == preset(name).precision == "float32"
    assert {field.name: field.default for field in fields(RunSpec)}["precision"] == "float32"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    on_a_gpu = preset(name, "cuda")
    assert on_a_gpu.precision == ("bf16" if name.endswith("-dsprites") else "float32")
    assert replace(on_a_gpu, precision="float32") == preset(name)


def test_every_objective_with_a_preset_has_one_on_sprites_and_one_on_dsprites():
    classes = [
        {type(spec_of(name).objective) for name in preset_names() if name.endswith(where)}
        for where in ("-sprites", "-dsprites")
    ]
    assert classes[0] == classes[1]


def test_on_sprites_none_takes_longer_than_20000_steps():
    assert all(spec_of(name).num_steps <= 20_000 for name in preset_names() if name.endswith("-sprites"))


@pytest.mark.parametrize("name", ["infogan", "infogan-sprite", "sprites", "-sprites", ""])
def test_a_name_that_is_none_is_refused_with_those_that_are(name):
    with pytest.raises(SpecError, match=f"There is no preset '{name}'.*infogan-sprites"):
        preset(name)


def test_the_page_has_a_row_for_every_one():
    page = EVIDENCE.read_text("utf-8")
    included = re.findall(r"<!-- from (benchmarks/results/presets_\w+\.md): table -->", page)
    tables = [(ROOT / name).read_text("utf-8") for name in included]
    assert {name for table in tables for name in re.findall(r"^\| `([a-z-]+)`", table, re.MULTILINE)} == set(
        preset_names()
    )
