"""What is heard stands in a table, row by row."""

import csv
import math
import sys
import types

import pytest

from tests.training.short_runs import ABSURD, SPEC, stop
from tests.training.watchers import Stopwatch
from unbraid._internal.progress import Event, emit, listening
from unbraid.errors import RunError, SpecError, TrainingInterrupted
from unbraid.training import train
from unbraid.training.listeners import CSVListener, TensorBoardListener


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_there_is_a_row_for_each_number_and_one_for_an_event_without(tmp_path):
    times = iter([0.0, 1.5, 2.0])
    with listening(CSVListener(tmp_path / "heard.csv", clock=lambda: next(times))):
        emit(Event("planning", text='2 models, "side by side"'))
        emit(Event("training", 5, 10, "steps", runs=("a", "b"), values={"loss": [1.5, math.nan]}))
    first, *losses = rows(tmp_path / "heard.csv")
    assert (first["seconds"], first["about"], first["text"]) == ("1.5", "planning", '2 models, "side by side"')
    assert [(row["done"], row["run"], row["name"], row["value"]) for row in losses] == [
        ("5", "a", "loss", "1.5"),
        ("5", "b", "loss", "nan"),
    ]


def test_it_holds_the_history_of_a_training_and_goes_on_with_the_next(tmp_path):
    path = tmp_path / "heard.csv"
    for seed in (0, 1):
        [run] = train(SPEC, [seed], folder=tmp_path / "runs", watch=CSVListener(path))
        losses = [float(row["value"]) for row in rows(path) if row["run"] == run.name and row["name"] == "loss"]
        assert losses == run.history.column("loss")
    assert {row["about"] for row in rows(path)} >= {"planning", "training", "encoding images"}


def test_another_file_is_not_written_to(tmp_path):
    (tmp_path / "own.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RunError, match="own.csv exists, and is not a file that CSVListener wrote"):
        CSVListener(tmp_path / "own.csv")
    assert (tmp_path / "own.csv").read_text() == "a,b\n1,2\n"


@pytest.fixture
def written(monkeypatch):
    """Gives what is written, by the folder of its run, and which folders are closed."""
    scalars, closed = {}, []

    class SummaryWriter:
        def __init__(self, folder):
            self.folder = folder

        def add_scalar(self, name, value, step):
            scalars.setdefault(self.folder, []).append((name, value, step))

        def close(self):
            closed.append(self.folder)

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.SimpleNamespace(SummaryWriter=SummaryWriter))
    return scalars, closed


def test_each_run_has_its_losses_in_a_folder_of_its_own(written, tmp_path):
    scalars, closed = written
    runs = train(SPEC, [0, 1], folder=tmp_path / "runs", watch=TensorBoardListener(tmp_path / "logs"))
    for run in runs:
        found = scalars[str(tmp_path / "logs" / run.name)]
        assert [(value, step) for name, value, step in found if name == "loss"] == [
            (value, step + 1) for step, value in enumerate(run.history.column("loss"))
        ]
    assert sorted(closed) == sorted(scalars)


def test_a_run_that_fails_has_no_more_losses(written, tmp_path):
    scalars, _ = written
    _, bad = train([SPEC, ABSURD], folder=tmp_path / "runs", watch=TensorBoardListener(tmp_path / "logs"))
    assert {step for _, _, step in scalars[str(tmp_path / "logs" / bad.name)]} == {1}


def test_what_was_heard_before_a_stop_is_written_when_it_is_closed(written, tmp_path):
    _, closed = written
    listener = TensorBoardListener(tmp_path / "logs")
    with pytest.raises(TrainingInterrupted), listening(listener):
        train(SPEC, folder=tmp_path / "runs", watch=Stopwatch(3, stop))
    assert closed == []
    listener.close()
    assert len(closed) == 1


def test_without_tensorboard_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(SpecError, match="needs tensorboard, which is not installed.*pip install tensorboard"):
        TensorBoardListener(tmp_path)
