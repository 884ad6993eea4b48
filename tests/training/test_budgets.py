"""Training for a number of epochs, or for a time."""

import math
import sys
from dataclasses import replace

import pytest

from tests.training.short_runs import SPEC
from tests.training.squares import Squares
from unbraid._internal import files
from unbraid.datasets.subsets import RandomSplit
from unbraid.errors import RunError, SpecError
from unbraid.objectives import VAE
from unbraid.training import budgets, listening, train
from unbraid.training.sizing import Memory

TRAIN = sys.modules["unbraid.training.train"]  # a function of the folder has the same name
NUM_IMAGES = SPEC.dataset.num_images


def test_epochs_are_resolved_to_steps_that_the_run_records(tmp_path):
    specs = [SPEC, replace(SPEC, batch_size=9), replace(SPEC, subset=RandomSplit(0.5))]
    runs = train(specs, [0, 1], epochs=0.5, folder=tmp_path)
    num_trained = [NUM_IMAGES, NUM_IMAGES, len(specs[2].training_data.open())]
    expected = [math.ceil(0.5 * num / spec.batch_size) for spec, num in zip(specs, num_trained, strict=True)]
    assert [run.spec.num_steps for run in runs] == [steps for steps in expected for _ in (0, 1)]
    assert [run.status for run in runs] == ["finished"] * 6
    assert train(specs[0].with_(num_steps=expected[0]), [0], folder=tmp_path) == runs[:1]


@pytest.fixture
def timed(monkeypatch):
    """A step of a fleet takes 0.1 s; gives the sizes of the fleets that were timed."""
    sizes = []
    monkeypatch.setattr(budgets, "seconds_per_step", lambda members, images: sizes.append(len(members)) or 0.1)
    return sizes


def test_minutes_are_divided_among_all_models_and_recorded(tmp_path, timed):
    specs = [SPEC, replace(SPEC, objective=VAE()), replace(SPEC, batch_size=9)]
    runs = train(specs, [0, 1], minutes=0.01, folder=tmp_path)
    assert timed == [4, 2], "two fleets, of which each is timed once"
    assert {run.spec.num_steps for run in runs} == {3}  # 0.6 s, and 0.2 s for a step of both
    assert [run.status for run in runs] == ["finished"] * 6


def test_the_same_call_finds_the_same_runs_without_timing_again(tmp_path, timed):
    runs = train(SPEC, [0, 1], minutes=0.01, folder=tmp_path)
    assert train(SPEC, [0, 1], minutes=0.01, folder=tmp_path) == runs
    assert timed == [2]
    assert train(SPEC.with_(num_steps=99), [0, 1], minutes=0.01, folder=tmp_path) == runs
    assert train(SPEC, [0, 1], minutes=0.02, folder=tmp_path)[0].spec.num_steps == 12
    assert train(SPEC, [0], minutes=0.01, folder=tmp_path) == runs[:1]


def test_fleets_that_do_not_fit_are_timed_in_parts(tmp_path, timed, monkeypatch):
    monkeypatch.setattr(budgets, "measured", lambda members, images: Memory(per_member=1, beside=0, free=3))
    train(SPEC, range(4), minutes=0.01, folder=tmp_path)
    assert timed == [2]


def test_a_measured_time_is_about_that_of_a_step():
    images = Squares(32).load()
    seconds = budgets.seconds_per_step([budgets.Member(SPEC, 0)], images)
    assert 0 < seconds < math.inf


@pytest.mark.parametrize("minutes", [0, -1.0, math.nan, math.inf, "ten"])
def test_a_time_is_positive(tmp_path, minutes):
    with pytest.raises(SpecError, match="minutes"):
        train(SPEC, minutes=minutes, folder=tmp_path)
    with pytest.raises(SpecError, match="epochs"):
        train(SPEC, epochs=minutes, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_epochs_and_minutes_are_refused_together(tmp_path):
    with pytest.raises(SpecError, match="2 and 3"):
        train(SPEC, epochs=2, minutes=3, folder=tmp_path)


def test_the_plan_has_the_estimated_time_of_long_training(tmp_path, monkeypatch):
    monkeypatch.setattr(TRAIN, "seconds_per_step", lambda members, images: 30.0 * len(members))
    plans = []
    with listening(lambda event: plans.append(event.text) if event.about == "planning" else None):
        train(SPEC.with_(num_steps=3), [0, 1], folder=tmp_path)
        monkeypatch.setattr(TRAIN, "_LEAST_STEPS_TO_TIME", 4)
        train(SPEC.with_(num_steps=4), [0, 1], folder=tmp_path)
    assert "About" not in plans[0]
    assert plans[1].endswith("About 4 min 0 s.")


def test_timing_changes_no_bit(tmp_path, monkeypatch):
    spec = SPEC.with_(num_steps=3)
    [alone] = train(spec, folder=tmp_path / "alone")
    monkeypatch.setattr(TRAIN, "_LEAST_STEPS_TO_TIME", 1)
    [timed] = train(spec, folder=tmp_path / "timed")
    assert timed.checksums["weights.safetensors"] == alone.checksums["weights.safetensors"]
    assert timed.history == alone.history


def test_a_damaged_record_is_named(tmp_path, timed):
    train(SPEC, minutes=0.01, folder=tmp_path)
    [path] = (tmp_path / ".budgets").iterdir()
    assert files.read_sealed(path)["num_steps"] == 6
    path.write_text(path.read_text().replace("6", "7", 1))
    with pytest.raises(RunError, match=path.name):
        train(SPEC, minutes=0.01, folder=tmp_path)
