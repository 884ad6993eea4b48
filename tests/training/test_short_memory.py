"""Fleets that are too large for memory: split before, or halved when it runs out."""

import importlib
from dataclasses import replace

import pytest
import torch

from tests.told import warned
from tests.training.short_runs import SPEC
from tests.training.squares import everything
from tests.training.watchers import Plans, Stopwatch
from unbraid.errors import RunError, TrainingError
from unbraid.training import TrainingOptions, fleet_training, train
from unbraid.training.fleet import Fleet
from unbraid.training.sizing import Memory

pytestmark = pytest.mark.slow

# The package has a function of the same name.
train_module = importlib.import_module("unbraid.training.train")

# What else says that memory is short is in test_memory.py.
SHORT = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB. GPU 0 has a total capacity of 10 GiB.")


def short_of_memory(monkeypatch, largest, at_step=3, error=SHORT):
    """From now on a fleet of more members than this raises an error at a step."""
    advance = Fleet.advance

    def advance_or_not(self, *, log=True):
        if len(self.members) > largest and self.step == at_step - 1:
            raise error
        return advance(self, log=log)

    monkeypatch.setattr(Fleet, "advance", advance_or_not)


def test_out_of_memory_halves_the_fleet_and_goes_on_from_the_last_checkpoints(tmp_path, monkeypatch):
    short_of_memory(monkeypatch, largest=2, at_step=6)
    watch = Plans()
    with warned() as said:
        runs = train([SPEC], range(5), folder=tmp_path, watch=watch, options=TrainingOptions(checkpoint_every=4))
    assert [run.status for run in runs] == ["finished"] * 5
    assert watch.sizes == [[5], [3, 2], [2, 1, 2]]
    assert [progress.done for progress in watch.seen][:6] == [1, 2, 3, 4, 5, 5]
    assert all(run.history["step"] == list(range(1, 11)) for run in runs)
    assert [words in message for words, message in zip(("5 models", "3 models"), said, strict=True)] == [True, True]
    assert "Continuing with 3." in said[0]


def test_out_of_memory_before_a_checkpoint_starts_afresh_with_the_same_result(tmp_path, monkeypatch):
    # In float64 company moves weights by less than 1e-8.
    spec = replace(SPEC, precision="float64")
    whole = train([spec], [0, 1], folder=tmp_path / "whole")
    short_of_memory(monkeypatch, largest=1)
    halved = train([spec], [0, 1], folder=tmp_path / "halved")
    for a, b in zip(whole, halved, strict=True):
        for name, tensor in a.model().state_dict().items():
            torch.testing.assert_close(b.model().state_dict()[name], tensor, rtol=0, atol=1e-8)


def test_one_model_that_does_not_fit_alone_is_an_error_that_says_what_was_tried_and_how_to_mend_it(
    tmp_path, monkeypatch
):
    short_of_memory(monkeypatch, largest=0)
    with pytest.raises(
        TrainingError,
        match="4, then 2",
    ) as told:
        train([SPEC], range(4), folder=tmp_path)
    for words in ("Tried to allocate 20 GiB", "--batch-size", "--stream", "--device"):
        assert words in str(told.value)


def test_memory_that_is_short_while_the_images_are_encoded_is_found_too(tmp_path, monkeypatch):
    keep = fleet_training.keep

    def keep_or_not(fleet, members, *rest):
        if len(members) > 1:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return keep(fleet, members, *rest)

    monkeypatch.setattr(fleet_training, "keep", keep_or_not)
    assert [run.status for run in train([SPEC], [0, 1], folder=tmp_path)] == ["finished"] * 2


def test_the_locks_are_held_while_the_fleet_is_halved(tmp_path, monkeypatch):
    def refused(event):
        if event.about != "planning":
            return
        with pytest.raises(RunError, match="process is training"):
            train([SPEC], [0, 1], folder=tmp_path, resume=True)

    short_of_memory(monkeypatch, largest=1)
    train([SPEC], [0, 1], folder=tmp_path, watch=refused)


def test_another_error_of_a_step_is_not_taken_for_a_lack_of_memory(tmp_path, monkeypatch):
    short_of_memory(monkeypatch, largest=1, error=RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes"):
        train([SPEC], [0, 1], folder=tmp_path)


def test_fleets_that_do_not_fit_together_are_trained_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(train_module, "measured", lambda members, images: Memory(per_member=10, beside=0, free=40))
    watch = Plans()
    runs = train([SPEC], range(5), folder=tmp_path, watch=watch)
    assert watch.sizes == [[3, 2]]
    assert [len(progress.runs) for progress in watch.seen] == [3] * 10 + [2] * 10
    assert [run.status for run in runs] == ["finished"] * 5


def test_the_time_left_counts_the_fleets_that_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(train_module, "measured", lambda members, images: Memory(per_member=10, beside=0, free=40))
    watch = Stopwatch()
    train([SPEC, replace(SPEC, batch_size=9)], range(6), folder=tmp_path, watch=watch)
    fifth = watch.seen[4]
    assert fifth.seconds_left * fifth.per_second == pytest.approx(5 + 10)
    assert watch.seen[9].seconds_left * watch.seen[9].per_second == pytest.approx(10)
    assert watch.seen[0].seconds_left == float("inf")


def test_a_step_that_cannot_be_taken_fails_before_a_folder_is_made(tmp_path, monkeypatch):
    short_of_memory(monkeypatch, largest=0, at_step=1, error=ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        train([SPEC], [0, 1], folder=tmp_path)
    assert everything(tmp_path) == {}
