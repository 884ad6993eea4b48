"""A study on a Ray cluster of two nodes in which a worker, a node and the driver die: nothing is lost or done twice."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.training.squares import MLP_SPEC
from unbraid import BetaVAE
from unbraid._internal import files
from unbraid.studies import Setting, Study, StudyOptions, collect, run_study
from unbraid.studies.plan import plan_study
from unbraid.training.runs import grid
from unbraid.training.runs.run_writer import RunWriter

pytest.importorskip("ray")
ROOT = Path(__file__).parents[2]
SPEC = replace(MLP_SPEC, objective=BetaVAE(), num_steps=200, precision="float32")
STUDY = Study(
    "cluster",
    Setting.each(grid(SPEC, {"objective.beta": [1, 2, 4, 8]}), range(4)),
    metrics=("mig", "sap"),
    members_per_fleet=2,
    threads=1,
)
METRICS = ("mig", "sap")
HALF = replace(STUDY, settings=STUDY.settings[:2])

# A process of its own has the cluster: pytest turns the warnings of Ray's own threads into errors.
CLUSTER = """
import json, sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
nodes = [cluster.add_node(num_cpus=1) for _ in range(1)]
print(json.dumps({"address": cluster.address}), flush=True)
for line in sys.stdin:
    if line.strip() == "remove":
        cluster.remove_node(nodes.pop())
    if line.strip() == "add":
        nodes.append(cluster.add_node(num_cpus=1))
    print("{}", flush=True)
cluster.shutdown()
"""


@pytest.fixture(scope="module")
def environment():
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    mark = {"UNBRAID_TEST_CLUSTER": str(os.getpid()), "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **mark}


class TwoNodes:
    """The process that holds the cluster."""

    def __init__(self, environment):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", CLUSTER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.address = self._answer()["address"]

    def do(self, what):
        self.process.stdin.write(what + "\n")
        self.process.stdin.flush()
        self._answer()

    def _answer(self):
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                return json.loads(line)
        raise AssertionError("the cluster ended")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def nodes(environment):
    cluster = TwoNodes(environment)
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    run_study(STUDY, folder, StudyOptions("cpu", num_scorers=0, packages=("tests",), progress=False))
    return folder


def values(folder, study=STUDY):
    scores = collect(study, folder)
    return {(s.label, m): scores.values(s.label, m) for s in study.settings for m in METRICS}


def weights_of(folder, study=STUDY):
    return {each.run.name: files.sha256(each.run.folder / "weights.safetensors") for each in study.runs(folder)}


def started(nodes, environment, out, log, cwd=None, study=STUDY):
    file = study.save(Path(log.name).parent / "study.json")
    command = [sys.executable, "-P", "-m", "unbraid", "study", "run", str(file), "--out", str(out), "--device", "cpu"]
    command += ["--packages", "tests", "--scorers", "1", "--on", "ray", "--address", nodes.address]
    return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=cwd)


def finished(out):
    return sorted(path.parent.name for path in out.glob("*/finished.json"))


def until(process, out, count, seconds=500):
    """Waits until so many runs are finished."""
    end = time.monotonic() + seconds
    while len(finished(out)) < count and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert len(finished(out)) >= count


def kill_a_worker(environment):
    """Kills a process of this test's cluster that carries out a fleet at this moment."""
    mark = f"UNBRAID_TEST_CLUSTER={environment['UNBRAID_TEST_CLUSTER']}".encode()
    end = time.monotonic() + 200
    while time.monotonic() < end:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if b"ray::_run_request" in path.read_bytes() and mark in (path.parent / "environ").read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)
                    return
        time.sleep(0.02)
    raise AssertionError("no fleet is being trained")


def stamps(out):
    return {name: (out / name / "finished.json").stat().st_mtime_ns for name in finished(out)}


@pytest.mark.slow
def test_whatever_dies_every_run_is_finished_once_with_the_scores_of_one_machine(tmp_path, nodes, environment, whole):
    out, seen = tmp_path / "runs", {}
    out.mkdir()
    with (tmp_path / "log").open("w") as log:
        process = started(nodes, environment, out, log)
        until(process, out, 2)
        kill_a_worker(environment)
        until(process, out, 6)
        seen |= stamps(out)
        nodes.do("remove")
        until(process, out, 10)
        process.kill()
        process.wait()
        seen |= stamps(out)
        nodes.do("add")
        again = started(nodes, environment, out, log)
        again.wait(timeout=500)
    assert again.returncode == 0, (tmp_path / "log").read_text()
    plan = plan_study(STUDY, out)
    assert len(plan.fleets) == 8
    assert len(plan.runs_that_need("nothing")) == STUDY.num_runs
    assert len(seen) >= 10
    assert stamps(out) | seen == stamps(out)  # nothing that was finished was trained again
    assert weights_of(out) == weights_of(whole)
    assert values(out) == values(whole)
    for each in STUDY.runs(out):
        RunWriter(each.run).check_unlocked()


@pytest.mark.slow
def test_without_shared_storage_runs_come_home_through_the_object_store(tmp_path, nodes, environment, whole):
    # What /proc/self/cwd is differs from process to process: no node sees the folder of the driver.
    (tmp_path / "runs").mkdir()
    (tmp_path / "einops.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w').close()")
    with (tmp_path / "log").open("w") as log:
        process = started(nodes, environment, Path("/proc/self/cwd/runs"), log, tmp_path, HALF)
        until(process, tmp_path / "runs", 2)
        kill_a_worker(environment)
        process.wait(timeout=500)
    assert process.returncode == 0, (tmp_path / "log").read_text()
    assert "object store" in (tmp_path / "log").read_text()
    assert not (tmp_path / "executed").exists()
    assert len(finished(tmp_path / "runs")) == HALF.num_runs
    assert weights_of(tmp_path / "runs", HALF) == weights_of(whole, HALF)
    assert values(tmp_path / "runs", HALF) == values(whole, HALF)
