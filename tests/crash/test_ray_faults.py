"""What Ray itself does to a study: its monitor kills what takes too much memory, its head dies, its token is wrong."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crash.hungry import Hungry
from tests.crash.test_ray_study import SPEC, finished, stamps, until
from unbraid.studies import Setting, Study
from unbraid.training.runs import grid

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TOKEN = "a" * 64
FAT = replace(SPEC, num_steps=3, optimizer=Hungry())
# Fleets of four models: those of the first two settings are of ordinary size.
SETTINGS = Setting.each([*grid(SPEC, {"objective.beta": [1, 2]}), FAT], range(4))
STUDY = Study("faults", SETTINGS, metrics=("mig",), threads=1, members_per_fleet=4)

# The monitor's threshold is so much above what the machine uses now.
HEAD = """
import json, os, sys
from ray._private.utils import get_system_memory, get_used_memory
os.environ["RAY_memory_usage_threshold"] = str(min(0.98, (get_used_memory() + 5 * 2**30) / get_system_memory()))
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
print(json.dumps({"address": cluster.address}), flush=True)
sys.stdin.read()
cluster.shutdown()
"""
# As `unbraid`, but a head counts as lost after a second.
IMPATIENT = """
import sys
if "ray" in sys.argv:
    from unbraid.studies.cluster import ray_workers
    ray_workers._SECONDS_WITHOUT_HEAD = 1.0
from unbraid.cli import main
main()
"""


def environment(mark, **changes):
    """That of the processes of one cluster, without what the user has set for Ray."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAY_")}
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    given = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0", "UNBRAID_TEST_CLUSTER": mark}
    monitor = {"RAY_memory_monitor_refresh_ms": "50", "RAY_NUM_REDIS_GET_RETRIES": "2"}
    return {**kept, **given, **monitor, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN} | changes


class Head:
    """A cluster of one node that asks for a token."""

    def __init__(self, mark):
        self.mark = mark
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", HEAD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(mark),
        )
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                self.address = json.loads(line)["address"]
                return
        reason = self.process.stderr.read().strip().rpartition("\n")[2]
        pytest.skip(f"Ray does not start on this machine: {reason}")

    def kill(self, *names):
        """Kills the processes of this cluster whose command line contains one of the names."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                is_ours = f"UNBRAID_TEST_CLUSTER={self.mark}".encode() in (path.parent / "environ").read_bytes()
                if is_ours and any(name in path.read_bytes() for name in names):
                    os.kill(int(path.parent.name), signal.SIGKILL)

    def close(self):
        self.process.kill()
        self.kill(b"gcs_server", b"raylet", b"ray::", b"ray/_private")
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


@pytest.fixture(scope="module")
def head():
    cluster = Head(f"{os.getpid()}-head")
    yield cluster
    cluster.close()


def begun(study, out, log, cluster, **changes):
    file = study.save(out.parent / f"{study.name}.json")
    command = [sys.executable, "-P", "-c", IMPATIENT, "study", "run", str(file), "--out", str(out), "--device", "cpu"]
    command += ["--packages", "tests", "--scorers", "1", "--on", "ray", "--address", cluster.address]
    return subprocess.Popen(command, env=environment(cluster.mark, **changes), stdout=log, stderr=log)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"RAY_AUTH_TOKEN": "b" * 64}, "refuses this connection"),
        ({"RAY_AUTH_TOKEN": "", "HOME": "/nowhere"}, "no authentication token"),
    ],
    ids=["wrong", "missing"],
)
def test_a_wrong_token_is_an_error_with_the_place_of_the_right_one(tmp_path, head, changes, expected):
    out = tmp_path / "runs"
    out.mkdir()
    with (tmp_path / "log").open("w") as log:
        assert begun(STUDY, out, log, head, **changes).wait(timeout=200) == 1
    message = (tmp_path / "log").read_text().rpartition("Error: ")[2]
    assert expected in message
    assert head.address in message
    assert "~/.ray/auth_token" in message
    assert finished(out) == []


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, head):
    """The folder and the output of a study whose head is killed after its first fleet."""
    out = tmp_path_factory.mktemp("study") / "runs"
    out.mkdir()
    with (out.parent / "log").open("w") as log:
        process = begun(STUDY, out, log, head)
        until(process, out, 2)
        head.kill(b"gcs_server")
        assert process.wait(timeout=200) == 1
    return out, (out.parent / "log").read_text()


def test_a_lost_head_is_an_error_with_what_is_kept_and_how_to_go_on(stopped, head):
    out, said = stopped
    message = said.rpartition("Error: ")[2]
    assert head.address in message
    assert str(out) in message
    assert "repeat the command" in message
    assert 2 <= len(finished(out)) < STUDY.num_runs


def test_it_resumes_on_another_head_whose_memory_monitor_kills_a_fleet(tmp_path, stopped):
    out, said = stopped
    seen, other = stamps(out), Head(f"{os.getpid()}-other")
    try:
        with (tmp_path / "log").open("w") as log:
            assert begun(STUDY, out, log, other).wait(timeout=200) == 0, (tmp_path / "log").read_text()
    finally:
        other.close()
    assert "Memory ran out for 4 models side by side" in said + (tmp_path / "log").read_text()
    assert stamps(out) | seen == stamps(out)
    assert len(finished(out)) == STUDY.num_runs
    for each in STUDY.runs(out):
        record = json.loads((each.run.folder / "finished.json").read_text())
        assert len(record["fleet"]) == (2 if each.run.spec == FAT else 4)
