"""Several fleets at a time on one machine: by processes, with the same results to the bit."""

import os
import re
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import unbraid
from tests.studies.cluster.test_fleet_task import STUDY, values, weights_of
from unbraid._internal.worker_pool import WorkerPool
from unbraid.errors import SpecError
from unbraid.studies import StudyOptions, run_study
from unbraid.studies.cluster import driver

OPTIONS = StudyOptions("cpu", num_scorers=0, packages=("tests",), progress=False)


@pytest.mark.slow
def test_two_processes_train_what_one_does_to_the_bit_although_one_is_killed(tmp_path):
    study = replace(STUDY, members_per_fleet=1)
    killed = []

    def kill(workers_of):
        while not killed:
            time.sleep(0.01)
            for process in list(workers_of):
                killed.append(process)
                os.kill(process, signal.SIGKILL)
                return

    pids = []
    before = WorkerPool._exchange

    def exchange(self, worker, task_id, request):
        pids.append(worker.process.pid)
        return before(self, worker, task_id, request)

    WorkerPool._exchange = exchange
    threading.Thread(target=kill, args=(pids,), daemon=True).start()
    try:
        outcome = run_study(study, tmp_path / "two", replace(OPTIONS, num_workers=2))
    finally:
        WorkerPool._exchange = before
    assert killed
    assert (outcome.num_trained, outcome.num_scored, outcome.failures, outcome.halved) == (4, 4, {}, {})
    run_study(study, tmp_path / "one", OPTIONS)
    assert weights_of(tmp_path / "two") == weights_of(tmp_path / "one")
    assert values(tmp_path / "two") == values(tmp_path / "one")


def test_each_process_has_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,7")
    monkeypatch.setattr(driver, "resolve_device", lambda _: torch.device("cuda"))
    given = []
    monkeypatch.setattr(driver, "WorkerPool", lambda task, environments, grace: given.extend(environments))
    monkeypatch.setattr("torch.cuda.device_count", lambda: 3)
    assert driver.num_workers(None, "auto") == 3
    assert driver.num_workers(None, "cuda:1") == 1
    assert driver.start_processes(3, "auto", 2)[1] == "cuda"
    assert [each["CUDA_VISIBLE_DEVICES"] for each in given] == ["4", "5", "7"]
    assert {each["OMP_NUM_THREADS"] for each in given} == {"2"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"budget": 60.0, "num_workers": 2}, "60.0.*--workers 1"), ({"address": "auto"}, "--on ray")],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, changes, said):
    with pytest.raises(SpecError, match=said):
        run_study(STUDY, tmp_path, replace(OPTIONS, **changes))


def test_without_ray_it_is_said_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "unbraid.studies.cluster.ray_workers", raising=False)
    with pytest.raises(SpecError, match=r"pip install 'unbraid\[ray\]'"):
        run_study(STUDY, tmp_path, replace(OPTIONS, on="ray"))


def test_one_file_imports_ray():
    source = Path(unbraid.__file__).parent
    importing = [
        path.name for path in source.rglob("*.py") if re.search(r"^\s*(import|from) ray\b", path.read_text(), re.M)
    ]
    assert importing == ["ray_workers.py"]
