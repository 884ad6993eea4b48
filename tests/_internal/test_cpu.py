"""Usable cores, and threads that sleep beside busy processes."""

import logging
import os
import subprocess
import sys

import pytest

from unbraid._internal import cpu
from unbraid._internal.cpu import wait_asleep

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")

WHEN_TORCH_IS_IMPORTED = """
import os, sys
class Look:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print(os.environ.get("OMP_WAIT_POLICY"))
            sys.stdout.flush()
            os._exit(0)
sys.meta_path.insert(0, Look())
"""


def policy_when_torch_is_imported(code, **variables):
    """What a Python of its own finds in the environment at the moment at which it would load OpenMP."""
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-c", WHEN_TORCH_IS_IMPORTED + code],
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def on_a_machine(tmp_path, load):
    """The code that lets unbraid see another load, once it is imported."""
    if load is not None:
        (tmp_path / "load").write_text(load)
    return f"""
import pathlib
read_text = pathlib.Path.read_text
def read(path, **options):
    return read_text(pathlib.Path({str(tmp_path / "load")!r}) if str(path) == "/proc/loadavg" else path, **options)
pathlib.Path.read_text = read
"""


@pytest.mark.parametrize(
    "code",
    [
        "from unbraid.cli import main; main(['runs'])",
        "import runpy, sys; sys.argv[1:] = ['runs']; runpy.run_module('unbraid', run_name='__main__')",
    ],
)
def test_beside_a_busy_process_the_command_line_lets_threads_sleep_before_torch_is_loaded(code, tmp_path):
    assert policy_when_torch_is_imported(on_a_machine(tmp_path, "1.9 1.2 0.4 2/80 77") + code) == "PASSIVE"


@pytest.mark.parametrize("load", ["1.9 1.2 0.4 1/80 77", "odd", None], ids=["quiet", "odd", "not told"])
def test_on_a_quiet_machine_they_spin(load, tmp_path):
    code = "from unbraid.cli import main; main(['runs'])"
    assert policy_when_torch_is_imported(on_a_machine(tmp_path, load) + code) == "None"


def test_the_users_choice_wins(tmp_path):
    code = on_a_machine(tmp_path, "1.9 1.2 0.4 3/80 77") + "from unbraid.cli import main; main(['runs'])"
    assert policy_when_torch_is_imported(code, OMP_WAIT_POLICY="ACTIVE") == "ACTIVE"
    assert policy_when_torch_is_imported(code, GOMP_SPINCOUNT="1000") == "None"


def test_in_a_script_they_sleep_too_unless_torch_was_loaded_first(tmp_path):
    busy = on_a_machine(tmp_path, "1.9 1.2 0.4 3/80 77")
    assert policy_when_torch_is_imported(f"{busy}import unbraid; unbraid.MIG") == "PASSIVE"
    loaded = "import os, sys, types; sys.modules['torch'] = types.ModuleType('torch')\n"
    code = f"{busy}{loaded}import unbraid; print(os.environ.get('OMP_WAIT_POLICY'))"
    assert policy_when_torch_is_imported(code) == "None"


@pytest.mark.parametrize("name", VARIABLES)
def test_nothing_is_set_beside_a_variable_of_the_users(name):
    environment = {name: "1"}
    wait_asleep(environment)
    assert environment == {name: "1"}


# ---- cores


@pytest.fixture
def groups(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    monkeypatch.setattr(cpu, "_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(cpu, "_MEMBERSHIP", tmp_path / "membership")

    return (tmp_path / "membership").write_text


def put(tmp_path, name, content):
    path = tmp_path / "cgroup" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def test_without_a_quota_the_affinity_counts(groups, tmp_path):
    assert cpu.usable_cores() == 64
    groups("0::/\n")
    put(tmp_path, "cpu.max", "max 100000")
    assert cpu.usable_cores() == 64


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "200000 100000"}, 2),
        ("0::/a/b\n", {"a/cpu.max": "150000 50000", "a/b/cpu.max": "max 100000"}, 3),
        ("0::/elsewhere\n", {"cpu.max": "10000 100000"}, 1),
        ("4:cpu,cpuacct:/job\n", {"cpu/job/cpu.cfs_quota_us": "400000", "cpu/job/cpu.cfs_period_us": "100000"}, 4),
        ("4:cpu,cpuacct:/\n", {"cpu,cpuacct/cpu.cfs_quota_us": "-1", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 64),
        ("4:cpu:/docker/1\n", {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ("4:memory:/\n", {"cpu/cpu.cfs_quota_us": "", "cpu.max": "half"}, 64),
    ],
)
def test_a_quota_of_either_version_counts(groups, tmp_path, membership, files, expected):
    groups(membership)
    for name, content in files.items():
        put(tmp_path, name, content)
    assert cpu.usable_cores() == expected


# ---- cores that other processes keep busy


def warnings_of(caplog, waiting, computing, seconds, step=1.0):
    """The warnings of a training of so long: of a second, so much is waited, and so much is computed by all threads."""
    now = 100.0
    check = cpu.busy_cores_check(lambda: (now, now * waiting, now * computing))
    for _ in range(int(seconds / step)):
        now += step
        check()
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("step", [0.01, 1.0, 25.0])
def test_a_warning_is_logged_once_if_cores_are_busy(caplog, monkeypatch, step):
    monkeypatch.setattr(cpu, "usable_cores", lambda: 2)
    assert warnings_of(caplog, waiting=0.4, computing=1.2, seconds=100, step=step) == [cpu.BUSY_CORES]
    assert "OMP_WAIT_POLICY=PASSIVE" in cpu.BUSY_CORES


@pytest.mark.parametrize(
    ("waiting", "computing", "seconds"),
    [
        (0.0, 2.0, 100),  # alone
        (0.0, 1.0, 100),  # alone, in code that one thread computes
        (0.1, 1.8, 100),  # something small runs now and then
        (0.4, 1.95, 100),  # its own threads are in each other's way
        (0.9, 0.5, 15),  # a busy moment
    ],
)
def test_no_warning_is_logged_on_a_quiet_machine(caplog, monkeypatch, waiting, computing, seconds):
    monkeypatch.setattr(cpu, "usable_cores", lambda: 2)
    assert warnings_of(caplog, waiting, computing, seconds) == []


@pytest.mark.skipif(cpu._times() is None, reason="only Linux has these numbers")
def test_the_seconds_that_a_thread_has_waited_grow():
    before = cpu._times()
    sum(range(10**6))
    assert all(0 <= one <= other for one, other in zip(before, cpu._times(), strict=True))


@pytest.mark.parametrize("content", [None, "17"])
def test_without_statistics_of_the_system_nothing_is_checked(monkeypatch, tmp_path, content):
    monkeypatch.setattr(cpu, "_SCHEDULER_STATISTICS", tmp_path / "schedstat")
    if content is not None:
        (tmp_path / "schedstat").write_text(content)
    assert cpu._times() is None
    cpu.busy_cores_check()()
