"""Losses in files of TensorBoard while training goes on."""

import sys
import types

import pytest

from tests.training.short_runs import ABSURD, SPEC, stop
from tests.training.watchers import Stopwatch
from unbraid._internal.progress import listening
from unbraid.errors import SpecError, TrainingInterrupted
from unbraid.integrations import TensorBoardListener
from unbraid.training import train


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
            (value, step + 1) for step, value in enumerate(run.history["loss"])
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
    with pytest.raises(SpecError, match="require .*pip install"):
        TensorBoardListener(tmp_path)
