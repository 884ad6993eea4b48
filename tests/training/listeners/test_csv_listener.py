"""What is heard stands in a table, row by row."""

import csv
import math

import pytest

from tests.training.short_runs import SPEC
from unbraid._internal.progress import Event, emit, listening
from unbraid.errors import RunError
from unbraid.training import train
from unbraid.training.listeners import CSVListener


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
