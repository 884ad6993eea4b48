"""A run says where it was trained, and a training that goes on elsewhere says so too."""

import json
import signal
from dataclasses import replace

import pytest
import torch

from tests.told import warned
from tests.training.squares import MLP_SPEC
from unbraid import __version__
from unbraid.errors import TrainingInterrupted
from unbraid.training import fleet_training, train
from unbraid.training.compilation import Inductor
from unbraid.training.runs import Run
from unbraid.training.runs.run_folder import ENVIRONMENT
from unbraid.training.runs.run_writer import RunWriter

SPEC = replace(MLP_SPEC, num_steps=6, precision="float32")
ELSEWHERE = {
    "unbraid": "0.0.1",
    "torch": "2.0.0",
    "device": "NVIDIA Test",
    "threads": None,
    "compiler": {"deterministic": True},
}


def stretches(run):
    return json.loads((run.folder / ENVIRONMENT).read_text())["stretches"]


def stopped_at(step):
    def watch(event):
        if event.about == "training" and event.done == step:
            signal.raise_signal(signal.SIGTERM)

    return watch


def interrupted(folder):
    with pytest.raises(TrainingInterrupted, match="Stopped by a signal at step 3"):
        train([SPEC], [0, 1], folder=folder, watch=stopped_at(3))


def test_a_run_records_device_versions_and_threads(tmp_path):
    [run] = train([SPEC], [0], folder=tmp_path)
    [here] = stretches(run)
    expected = {"unbraid": __version__, "torch": torch.__version__, "device": "CPU", "compiler": None}
    assert here == {"from_step": 0, **expected, "threads": torch.get_num_threads()}


def test_a_training_that_goes_on_where_it_was_leaves_no_trace_of_it(tmp_path):
    interrupted(tmp_path)
    with warned() as told:
        [run, _] = train([SPEC], [0, 1], folder=tmp_path, resume=True)
    assert len(stretches(run)) == 1
    assert told == []


def test_a_training_that_goes_on_elsewhere_says_so_once_for_all_runs(tmp_path, monkeypatch):
    interrupted(tmp_path)
    monkeypatch.setattr(fleet_training, "environment", lambda device, compiler: ELSEWHERE)
    with warned() as told:
        [run, _] = train([SPEC], [0, 1], folder=tmp_path, resume=True)
    assert [each["from_step"] for each in stretches(run)] == [0, 3]
    [sentence] = told
    assert f"{run.name} and 1 others resume from step 3 in another environment" in sentence
    assert "CPU before, NVIDIA" in sentence


def test_what_cannot_be_read_is_written_anew(tmp_path):
    run = Run.place(tmp_path, SPEC, 0)
    RunWriter(run).begin()
    (run.folder / ENVIRONMENT).write_text("{")
    assert RunWriter(run).record_environment(3, ELSEWHERE) == ""
    assert [each["device"] for each in stretches(run)] == ["NVIDIA Test"]


def test_compiled_steps_are_not_chosen_by_the_clock():
    usual, strict = Inductor().settings, Inductor(deterministic=True).settings
    assert usual["triton.autotune_pointwise"] is False
    assert strict == {**usual, "deterministic": True}
