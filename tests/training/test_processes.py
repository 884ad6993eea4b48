"""One model per process on a CPU: the same bits by any number of processes, and nothing lost on the way."""

import json
import os
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.training.squares import CONV_SPEC, MLP_SPEC, result
from tests.training.watchers import Stopwatch
from tests.training.worker_only import PARENT, FailsElsewhere
from unbraid import BetaTCVAE, DSprites
from unbraid._internal.cpu import torch_threads, usable_cores
from unbraid._internal.progress import Event, emit, listening, merged_display, showing
from unbraid._internal.worker_pool import WorkerPool
from unbraid.errors import SpecError, TrainingError, TrainingInterrupted
from unbraid.training import TrainingOptions, extend, processes, train
from unbraid.training.processes import num_processes
from unbraid.training.runs import Run

CPU = torch.device("cpu")
SPEC = replace(CONV_SPEC, num_steps=12, precision="float32")
LONG = replace(MLP_SPEC, num_steps=200)
SPECS = [SPEC, replace(SPEC, objective=BetaTCVAE(beta=4.0)), replace(MLP_SPEC, num_steps=8)]


def runs_of(*specs, seeds=(0, 1), folder="runs"):
    return [Run.place(folder, spec, seed) for spec in specs for seed in seeds]


@pytest.fixture
def pools(monkeypatch):
    """The pools that training starts."""
    started = []

    def start(*arguments, **options):
        started.append(WorkerPool(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(processes, "WorkerPool", start)
    return started


# ---- how many


def test_long_training_of_several_models_has_a_process_for_each_core():
    large = DSprites(resolution=64, num_positions=2, num_orientations=1)
    several, options = runs_of(replace(SPEC, dataset=large, num_steps=1000)), TrainingOptions()
    assert num_processes(several, options, CPU) == usable_cores()
    assert num_processes(several, TrainingOptions(workers=3), CPU) == 3
    assert num_processes(several, TrainingOptions(workers=0), CPU) == 0


def test_single_models_short_training_and_other_devices_have_none():
    large = DSprites(resolution=64, num_positions=2, num_orientations=1)
    long = replace(SPEC, dataset=large, num_steps=1000)
    assert num_processes(runs_of(long, seeds=[0]), TrainingOptions(), CPU) == 0
    assert num_processes(runs_of(replace(long, num_steps=999)), TrainingOptions(), CPU) == 0
    assert num_processes(runs_of(replace(SPEC, num_steps=1000)), TrainingOptions(), CPU) == 0  # small images
    assert num_processes(runs_of(long), TrainingOptions(workers=4), torch.device("cuda")) == 0
    assert num_processes([], TrainingOptions(workers=4), CPU) == 0


def test_classes_of_a_script_are_trained_in_this_process_with_a_note(monkeypatch, caplog):
    monkeypatch.setattr(FailsElsewhere, "__module__", "__main__")
    runs = [replace(run, spec=replace(SPEC, objective=FailsElsewhere())) for run in runs_of(SPEC)]
    assert num_processes(runs, TrainingOptions(workers=4), CPU) == 0
    assert "FailsElsewhere" in caplog.text


@pytest.mark.parametrize("workers", [-1, "all", 1.5])
def test_another_number_is_refused(workers, tmp_path):
    with pytest.raises(SpecError, match="workers"):
        train(SPEC, folder=tmp_path, workers=workers)


# ---- the same results


def test_one_process_is_this_one_and_makes_of_each_model_what_it_makes_alone(tmp_path):
    together = train(SPECS, [0, 1], folder=tmp_path / "together", workers=1, progress=False)
    assert {run.environments[0]["threads"] for run in together} == {1}
    with torch_threads(1):
        for run in together[1:4]:
            [alone] = train(run.spec, [run.seed], folder=tmp_path / "alone", workers=0, progress=False)
            assert result(alone) == result(run)


@pytest.mark.slow
def test_the_bits_are_the_same_by_one_two_and_four_processes(tmp_path, pools):
    made = []
    for count in (1, 2, 4):  # seconds each, most of them for the start of processes
        heard = []
        runs = train(SPECS, [0, 1], folder=tmp_path / f"{count}", workers=count, watch=heard.append, keep_state=True)
        made.append([result(run) for run in runs])
        steps = [event for event in heard if event.about == "training"]
        assert {event.runs for event in steps} == {(run.name,) for run in runs}
        assert {event.done for event in steps if event.runs == (runs[0].name,)} == set(range(1, 13))
    assert made[0] == made[1] == made[2]
    assert [len(pool._workers) for pool in pools] == [2, 4]
    longer = [extend(runs[:2], 20, options=TrainingOptions(workers=count)) for count in (2, 0)]
    assert [run.status for run in (*longer[0], *longer[1])] == ["finished"] * 4


@pytest.mark.slow
def test_a_killed_process_loses_nothing(tmp_path, pools, caplog):
    def kill():
        pools[0]._workers[0].process.kill()

    undisturbed = train(LONG, [0, 1], folder=tmp_path / "undisturbed", workers=1)
    disturbed = train(
        LONG, [0, 1], folder=tmp_path / "disturbed", workers=2, watch=Stopwatch(60, kill), checkpoint_every=5
    )
    assert list(map(result, disturbed)) == list(map(result, undisturbed))
    assert len(pools[0]._workers) >= 3
    assert "-9" in caplog.text


@pytest.mark.slow
def test_a_process_that_is_lost_again_and_again_is_an_error(tmp_path, pools, monkeypatch):
    monkeypatch.setattr(processes, "_MAX_LOSSES", 1)

    def kill(event):
        for worker in pools[0]._workers:
            worker.process.kill()

    with pytest.raises(TrainingError, match=r"lost 2 times: .*-9"):
        train(replace(LONG, num_steps=5000), [0, 1], folder=tmp_path, workers=2, watch=lambda e: pools and kill(e))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_checkpoints_of_all_models_and_the_same_call_resumes(number, tmp_path, pools):
    undisturbed = train(LONG, [0, 1], folder=tmp_path / "undisturbed", workers=1)
    with pytest.raises(TrainingInterrupted) as stopped:
        train(
            LONG,
            [0, 1],
            folder=tmp_path / "stopped",
            workers=2,
            watch=Stopwatch(30, lambda: signal.raise_signal(number)),
            checkpoint_every=10**6,
        )
    assert not stopped.value.at_once
    assert all(worker.process.poll() is not None for worker in pools[0]._workers)
    assert max(step for run in stopped.value.runs for step in run.checkpoints) >= 30
    resumed = train(LONG, [0, 1], folder=tmp_path / "stopped", workers=2, resume=True)
    assert list(map(result, resumed)) == list(map(result, undisturbed))


@pytest.mark.slow
def test_an_interrupted_fleet_stays_together(tmp_path):
    stop = Stopwatch(6, lambda: signal.raise_signal(signal.SIGTERM))
    undisturbed = train(SPEC, [0, 1, 2], folder=tmp_path / "undisturbed", workers=0)
    with pytest.raises(TrainingInterrupted):
        train(SPEC, [0, 1, 2], folder=tmp_path / "stopped", workers=0, watch=stop)
    resumed = train([SPEC, LONG], [0, 1, 2], folder=tmp_path / "stopped", workers=2, resume=True)
    assert list(map(result, resumed[:3])) == list(map(result, undisturbed))


# ---- what passes between the processes


@pytest.mark.slow
def test_an_error_of_a_process_comes_with_its_message(tmp_path, monkeypatch):
    monkeypatch.setenv(PARENT, str(os.getpid()))
    spec = replace(SPEC, objective=FailsElsewhere())
    with pytest.raises(TrainingError, match="ValueError: not here"):
        train(spec, [0, 1], folder=tmp_path, workers=2)


@pytest.mark.slow
def test_requests_are_json_and_warnings_come_back(tmp_path, pools, monkeypatch, caplog):
    requests, submit = [], WorkerPool.submit
    monkeypatch.setattr(
        WorkerPool, "submit", lambda pool, task_id, request: requests.append(request) or submit(pool, task_id, request)
    )
    specs = [SPEC, replace(SPEC, max_loss=1e-3)]
    runs = train(specs, [0, 1], folder=tmp_path, workers=2)
    assert [run.status for run in runs] == ["finished", "finished", "failed", "failed"]
    assert "above max_loss" in caplog.text
    assert all(json.loads(json.dumps(each))["runs"] == each["runs"] for each in requests)
    assert "tests" in requests[0]["packages"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the mapped files of a process are read from /proc")
def test_processes_share_one_file_of_images(tmp_path, pools):
    data = DSprites(resolution=32, shapes=("heart",), num_orientations=2, num_positions=8)
    mapped = set()

    def look():
        for worker in pools[0]._workers:
            lines = Path(f"/proc/{worker.process.pid}/maps").read_text().splitlines()
            mapped.update(re.split(r"\s+", line, maxsplit=5)[5] for line in lines if line.endswith("images.npy"))

    spec = replace(SPEC, dataset=data, num_steps=300)
    train(spec, [0, 1], folder=tmp_path, workers=2, watch=Stopwatch(200, look))
    assert mapped == {str(data.store.folder / "images.npy")}


# ---- one bar


def test_several_runs_are_shown_as_one():
    shown, heard = [], []
    with listening(heard.append), showing(shown.append), merged_display({"a": 100, "b": 300}):
        emit(Event("training", 50, 100, "steps", runs=("a",), values={"loss": [2.0]}))
        emit(Event("encoding images", 0, 1, "models", runs=("a",)))
        emit(Event("training", 150, 300, "steps", runs=("b",), values={"loss": [4.0], "rate": [1.0]}))
        emit(Event("training", 300, 300, "steps", runs=("b",), values={"loss": [3.0], "rate": [1.0]}))
        emit(Event("training", 100, 100, "steps", runs=("a",), values={"loss": [1.0]}))
    assert [event.runs for event in heard] == [("a",), ("a",), ("b",), ("b",), ("a",)]
    assert [event.runs for event in shown] == [("a", "b")] * 4
    assert [(event.done, event.total) for event in shown] == [(37, 300), (150, 300), (262, 300), (300, 300)]
    assert [event.is_over for event in shown] == [False, False, False, True]
    assert shown[1].medians == {"loss": 3.0, "rate": 1.0}
    assert shown[2].values["loss"] == [2.0, 3.0]


def test_nothing_is_shown_where_there_is_no_display():
    with merged_display({"a": 1}):
        emit(Event("training", 1, 1, "steps", runs=("a",)))
