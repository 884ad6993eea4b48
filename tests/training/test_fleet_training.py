"""A fleet may be asked to stop at any moment, and what it has done is kept."""

import importlib
import os
import signal
from dataclasses import replace

import pytest

from tests.training.short_runs import SPEC
from tests.training.squares import result
from tests.training.watchers import Signaled, Stopwatch
from unbraid.errors import TrainingInterrupted
from unbraid.training import TrainingOptions, fleet_training, train
from unbraid.training.checkpoint import CheckpointTimes
from unbraid.training.runs import Run

# The package has a function of the same name.
train_module = importlib.import_module("unbraid.training.train")


def signaled_while_encoding(monkeypatch):
    """A signal comes while the first models encode the images."""
    keep = fleet_training.keep

    def keep_signaled(*arguments):
        if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:  # it has not come yet
            signal.raise_signal(signal.SIGTERM)
        return keep(*arguments)

    monkeypatch.setattr(fleet_training, "keep", keep_signaled)


def test_asked_to_stop_while_all_of_a_fleet_encode_they_are_finished(tmp_path, undisturbed, monkeypatch):
    signaled_while_encoding(monkeypatch)
    with pytest.raises(TrainingInterrupted, match="after 2"):
        train([SPEC], [0, 1], folder=tmp_path)
    assert [result(Run.place(tmp_path, SPEC, seed)) for seed in (0, 1)] == undisturbed


def test_asked_to_stop_while_some_of_a_fleet_encode_all_are_finished_later(tmp_path, monkeypatch):
    signaled_while_encoding(monkeypatch)
    with pytest.raises(TrainingInterrupted, match="10 of 10.*a"):
        train([SPEC], range(6), folder=tmp_path)
    assert [Run.place(tmp_path, SPEC, seed).status for seed in range(6)] == ["unfinished"] * 6
    again = Stopwatch()
    monkeypatch.undo()
    assert [run.status for run in train([SPEC], range(6), folder=tmp_path, watch=again, resume=True)] == [
        "finished"
    ] * 6
    assert again.seen == []


def test_asked_to_stop_just_before_they_encode_none_does(tmp_path, undisturbed):
    with pytest.raises(TrainingInterrupted, match="10 of 10.*a"):
        train([SPEC], [0, 1], folder=tmp_path, watch=Signaled("encoding images"))
    assert [result(run) for run in train([SPEC], [0, 1], folder=tmp_path, resume=True)] == undisturbed


def test_asked_to_stop_while_the_first_kind_encodes_the_second_is_not_begun(tmp_path, monkeypatch):
    signaled_while_encoding(monkeypatch)
    other = replace(SPEC, batch_size=9)
    with pytest.raises(TrainingInterrupted, match=r"finished\. .*--resume"):
        train([SPEC, other], [0], folder=tmp_path)
    assert [Run.place(tmp_path, spec, 0).status for spec in (SPEC, other)] == ["finished", "new"]


def test_asked_to_stop_while_a_checkpoint_is_saved_it_stops_with_that_checkpoint(tmp_path, undisturbed, monkeypatch):
    saved = fleet_training.save_checkpoint

    def save(run, state, *rest):
        if state.step == 4 and run.seed == 0:
            os.kill(os.getpid(), signal.SIGTERM)
        saved(run, state, *rest)

    monkeypatch.setattr(fleet_training, "save_checkpoint", save)
    with pytest.raises(TrainingInterrupted, match="4 of 10"):
        train([SPEC], [0, 1], folder=tmp_path, options=TrainingOptions(checkpoint_every=4))
    monkeypatch.undo()
    assert [result(run) for run in train([SPEC], [0, 1], folder=tmp_path, resume=True)] == undisturbed


@pytest.mark.parametrize("moment", ["measured", "FleetTraining"])
def test_ctrl_c_before_the_first_step_ends_it_at_once_and_says_how_to_go_on(tmp_path, undisturbed, monkeypatch, moment):
    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(train_module, moment, interrupted)
    with pytest.raises(TrainingInterrupted, match="lost.*--resume"):
        train([SPEC], [0, 1], folder=tmp_path)
    monkeypatch.undo()
    assert [result(run) for run in train([SPEC], [0, 1], folder=tmp_path, resume=True)] == undisturbed


# ---- the end of a fleet


def test_a_process_that_died_while_it_said_that_runs_are_finished_has_nothing_left_to_train(tmp_path, undisturbed):
    _, run = train([SPEC], [0, 1], folder=tmp_path)
    (run.folder / "finished.json").rename(run.folder / "kept.json")
    watch = Stopwatch()
    assert [result(each) for each in train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)] == undisturbed
    assert run.status == "finished"
    assert watch.seen == []


def test_a_process_that_died_before_all_of_a_fleet_was_kept_trains_all_of_it_again(tmp_path, undisturbed):
    runs = train([SPEC], [0, 1], folder=tmp_path)
    (runs[0].folder / "finished.json").rename(runs[0].folder / "kept.json")
    (runs[1].folder / "finished.json").unlink()
    watch = Stopwatch()
    assert [result(each) for each in train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)] == undisturbed
    assert [(progress.done, len(progress.runs)) for progress in watch.seen] == [(step, 2) for step in range(1, 11)]


def test_no_run_is_finished_before_all_of_the_fleet_is_kept(tmp_path, monkeypatch):
    keep, calls = fleet_training.keep, []

    def keep_once(*arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise OSError("disk full")
        return keep(*arguments)

    monkeypatch.setattr(fleet_training, "keep", keep_once)
    with pytest.raises(OSError, match="disk full"):
        train([SPEC], range(6), folder=tmp_path)
    assert {Run.place(tmp_path, SPEC, seed).status for seed in range(6)} == {"unfinished"}


# ---- checkpoints


def checkpointed_steps(monkeypatch, tmp_path, **options):
    """At which steps a run of ten is checkpointed."""
    saved, steps = fleet_training.save_checkpoint, []

    def save(run, state, *rest):
        steps.append(state.step)
        saved(run, state, *rest)

    monkeypatch.setattr(fleet_training, "save_checkpoint", save)
    train([SPEC], [0], folder=tmp_path, options=TrainingOptions(**options))
    return steps


def test_a_run_of_less_than_a_minute_is_not_checkpointed(monkeypatch, tmp_path):
    assert checkpointed_steps(monkeypatch, tmp_path) == []


def test_checkpoints_every_so_many_steps_and_at_the_end_where_one_asks_for_them(monkeypatch, tmp_path):
    assert checkpointed_steps(monkeypatch, tmp_path, checkpoint_every=4) == [4, 8, 10]


def test_the_first_checkpoint_comes_after_a_minute_of_a_clock_that_goes_ten_seconds_a_step(monkeypatch, tmp_path):
    class Clock:
        def __init__(self):
            self.now = 0.0

        def __call__(self):
            self.now += 10.0
            return self.now

    monkeypatch.setattr(
        fleet_training, "CheckpointTimes", lambda every, num_bytes: CheckpointTimes(every, num_bytes, Clock())
    )
    # It takes ten seconds by this clock, so the second waits for five hundred.
    assert checkpointed_steps(monkeypatch, tmp_path) == [6]


def test_a_clock_that_is_set_back_changes_nothing(monkeypatch, tmp_path):
    def no_clock():
        raise AssertionError("somebody asked for the time of day")

    monkeypatch.setattr("time.time", no_clock)
    assert checkpointed_steps(monkeypatch, tmp_path) == []
