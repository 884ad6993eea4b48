"""A run that was stopped, killed or damaged goes on to the same bits."""

import pytest

from tests.told import warned
from tests.training.short_runs import SPEC, stop, stopped
from tests.training.squares import result
from tests.training.watchers import Stopwatch
from unbraid.errors import RunError, TrainingInterrupted
from unbraid.training import TrainingOptions, train
from unbraid.training.runs import Run


@pytest.mark.parametrize("at", [1, 7, 10])
def test_a_run_that_was_stopped_resumes_to_the_same_bits(tmp_path, undisturbed, at):
    stopped([SPEC], [0, 1], tmp_path, at, options=TrainingOptions(checkpoint_every=4))
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, options=TrainingOptions(checkpoint_every=3))
    assert [result(run) for run in runs] == undisturbed
    assert "in a fleet of 2" in (runs[0].folder / "log.txt").read_text().splitlines()[1]


def _damages(content):
    """A file that is gone, emptied, cut, and with one bit altered at every third place."""
    yield from (None, b"", content[:-7])
    for place in range(0, len(content), 3):
        yield content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


def test_a_damaged_history_of_an_unfinished_run_is_refused(tmp_path):
    [left] = stopped([SPEC], [0], tmp_path, at=2)
    path = left.folder / "history.csv"
    content = path.read_bytes()
    for damaged in _damages(content):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        with pytest.raises(RunError, match=r"history\.csv"):
            _ = left.history
        path.write_bytes(content)
    assert left.history["step"] == [1, 2]


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"stfp,loss\n1,2\n")])
def test_a_run_whose_history_was_damaged_meanwhile_ends_as_if_it_had_not_been(tmp_path, undisturbed, damage):
    stopped([SPEC], [0, 1], tmp_path, at=4)
    for path in tmp_path.rglob("history.csv"):
        damage(path)
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True)
    assert [result(run) for run in runs] == undisturbed


def test_rows_beyond_the_last_checkpoint_are_read_and_dropped_on_resuming(tmp_path, undisturbed):
    [first, _] = stopped([SPEC], [0, 1], tmp_path, at=4)
    with (first.folder / "history.csv").open("a") as stream:
        stream.write(",".join(["5", *["0.5"] * (len(first.history.columns) - 1)]) + "\n")
    assert first.history["step"] == [1, 2, 3, 4, 5]
    assert [result(run) for run in train([SPEC], [0, 1], folder=tmp_path, resume=True)] == undisturbed


def test_what_to_type_next_is_said(tmp_path):
    with pytest.raises(TrainingInterrupted, match="3 of 10.*the"):
        train([SPEC], [0], folder=tmp_path, watch=Stopwatch(3, stop))


def test_a_crash_between_checkpoints_costs_only_the_steps_since_the_last(tmp_path, undisturbed):
    def crash():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train([SPEC], [0, 1], folder=tmp_path, options=TrainingOptions(checkpoint_every=3), watch=Stopwatch(8, crash))
    watch = Stopwatch()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)
    assert [progress.done for progress in watch.seen] == [7, 8, 9, 10]
    assert [result(run) for run in runs] == undisturbed


def test_a_damaged_checkpoint_takes_the_whole_fleet_back_to_the_one_before_with_a_message(tmp_path, undisturbed):
    stopped([SPEC], [0, 1], tmp_path, at=8, options=TrainingOptions(checkpoint_every=3))
    damaged = Run.place(tmp_path, SPEC, 1)
    path = damaged.folder / "checkpoints" / "step-0000000008.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    watch = Stopwatch()
    with warned() as said:
        runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)
    assert [result(run) for run in runs] == undisturbed
    assert [(progress.done, len(progress.runs)) for progress in watch.seen] == [(7, 2), (8, 2), (9, 2), (10, 2)]
    assert len(said) == 1
    assert damaged.name in said[0]


def test_a_member_that_has_lost_its_checkpoints_starts_afresh_and_the_others_go_on(tmp_path):
    stopped([SPEC], [0, 1], tmp_path, at=8, options=TrainingOptions(checkpoint_every=3))
    for path in (Run.place(tmp_path, SPEC, 1).folder / "checkpoints").iterdir():
        path.unlink()
    watch = Stopwatch()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)
    assert [run.status for run in runs] == ["finished", "finished"]
    assert [(progress.done, len(progress.runs)) for progress in watch.seen] == [
        (9, 1),
        (10, 1),
        *((step, 1) for step in range(1, 11)),
    ]


def test_a_process_that_died_within_its_first_checkpoint_starts_the_whole_fleet_afresh(tmp_path, undisturbed):
    # Alone, the one would end with other last bits than beside the other.
    stopped([SPEC], [0, 1], tmp_path, at=3)
    for path in (Run.place(tmp_path, SPEC, 1).folder / "checkpoints").iterdir():
        path.unlink()
    watch = Stopwatch()
    runs = train([SPEC], [0, 1], folder=tmp_path, resume=True, watch=watch)
    assert {len(progress.runs) for progress in watch.seen} == {2}
    assert [result(run) for run in runs] == undisturbed


def test_resuming_what_was_never_begun_begins_it(tmp_path, undisturbed):
    assert [result(run) for run in train([SPEC], [0, 1], folder=tmp_path, resume=True)] == undisturbed


def test_checkpoints_that_a_finished_run_was_killed_before_removing_are_removed_later(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path)
    (run.folder / "checkpoints").mkdir()
    (run.folder / "checkpoints" / "step-0000000010.safetensors").write_bytes(b"old")
    train([SPEC], [0], folder=tmp_path)
    assert not (run.folder / "checkpoints").exists()


def test_a_fleet_of_its_own_is_taken_up_as_it_was_left_beside_runs_that_were_never_begun(tmp_path):
    stopped([SPEC], [0, 1], tmp_path, at=4)
    watch = Stopwatch()
    train([SPEC], [0, 1, 2], folder=tmp_path, resume=True, watch=watch)
    assert [(progress.done, len(progress.runs)) for progress in watch.seen] == [
        *((step, 2) for step in range(5, 11)),
        *((step, 1) for step in range(1, 11)),
    ]


def test_a_finished_run_in_whose_folder_another_seed_lies_is_not_taken_for_it(tmp_path):
    [first, second] = train([SPEC], [0, 1], folder=tmp_path)
    (first.folder / "spec.json").write_bytes((second.folder / "spec.json").read_bytes())
    with pytest.raises(RunError, match="not the spec of"):
        train([SPEC], [0], folder=tmp_path)


def test_runs_made_by_another_version_are_named_in_one_warning(tmp_path, monkeypatch):
    with monkeypatch.context() as old:
        old.setattr("unbraid.training.runs.run_writer.__version__", "0.0.9")
        train([SPEC], [0, 1], folder=tmp_path)
    with warned() as said:
        runs = train([SPEC], [0, 1, 2], folder=tmp_path)
    assert len(said) == 1
    assert f"2 existing runs were trained by unbraid 0.0.9 (the first is {runs[0].folder})" in said[0]


def test_a_folder_in_place_of_a_file_of_an_unfinished_run_is_told(tmp_path):
    stopped([SPEC], [0], tmp_path, at=7, options=TrainingOptions(checkpoint_every=5))
    run = Run.place(tmp_path, SPEC, 0)
    (run.folder / "log.txt").unlink()
    (run.folder / "log.txt").mkdir()
    with pytest.raises(RunError, match=r"log\.txt"):
        train([SPEC], [0], folder=tmp_path, resume=True)
