import gc
import subprocess
import sys
import time
from pathlib import Path

import pytest

from unbraid.data.formats import pictures, workers
from unbraid.errors import DataError


def jobs(path, count):
    framing = {"image_shape": [1, 2, 2], "mask": False}
    return [{"path": str(path), "is_folder": True, "members": [], "framing": framing} for _ in range(count)]


def test_results_come_in_the_order_of_the_jobs(tmp_path):
    assert [result.shape for result in workers.in_order(pictures._work, jobs(tmp_path, 9), 2)] == [(0, 1, 2, 2)] * 9


def test_jobs_are_asked_for_as_results_are_taken(tmp_path):
    asked = []

    def counted():
        for job in jobs(tmp_path, 20):
            asked.append(job)
            yield job

    results = workers.in_order(pictures._work, counted(), 2)
    next(results)
    assert len(asked) == 4
    results.close()


def test_what_goes_wrong_in_a_worker_is_said_here(tmp_path):
    (broken,) = jobs(tmp_path, 1)
    broken["members"] = [["absent.png", 3]]
    with pytest.raises(DataError, match=r"absent\.png cannot be read"):
        list(workers.in_order(pictures._work, [broken], 2))


def test_a_worker_that_dies_is_noticed(tmp_path, capfd):
    # Not a job: the worker ends with a traceback.
    with pytest.raises(DataError, match="ended with status 1"):
        list(workers.in_order(pictures._work, [{"path": 1}], 1))
    assert "KeyError" in capfd.readouterr().err


def test_a_worker_that_cannot_start_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(DataError, match="could not be started"):
        list(workers.in_order(pictures._work, jobs(tmp_path, 1), 1))


def test_workers_end_when_nobody_takes_their_results(tmp_path, monkeypatch):
    processes = []

    def noted(*arguments, start=subprocess.Popen, **options):
        processes.append(start(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    results = workers.in_order(pictures._work, jobs(tmp_path, 50), 2)
    next(results)
    assert [process.poll() for process in processes] == [None, None]
    del results
    gc.collect()
    assert None not in [process.poll() for process in processes]


# As users write scripts: without a guard against being run again.
SCRIPT = """
import subprocess, sys, types
for name, folder in (("unbraid", sys.argv[2]), ("unbraid.data", sys.argv[2] + "/data")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from unbraid.data.formats import pictures, workers

class Noted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        print("worker", self.pid, flush=True)

subprocess.Popen = Noted
job = {"path": sys.argv[1], "is_folder": True, "members": [], "framing": {"image_shape": [1, 2, 2]}}
results = workers.in_order(pictures._work, iter(lambda: job, None), 2)
print("shapes", *[next(results).shape for _ in range(3)], flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="whether a process is running is told by /proc")
def test_a_script_is_not_run_again_and_workers_die_with_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, script, tmp_path, Path(workers.__file__).parents[2]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        first, second, shapes = (process.stdout.readline().split(maxsplit=1) for _ in range(3))
        process.kill()
    assert shapes == ["shapes", "(0, 1, 2, 2) (0, 1, 2, 2) (0, 1, 2, 2)\n"]
    assert (first[0], second[0]) == ("worker", "worker")
    for _ in range(1000):
        if not (is_running(int(first[1])) or is_running(int(second[1]))):
            return
        time.sleep(0.05)
    pytest.fail("the workers outlived the script")


def is_running(pid):
    """Not gone, and not merely waiting to be buried by whoever inherited it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_worker_imports_neither_torch_nor_scipy():
    command = list(workers._command(pictures._work))
    command[3] += (
        '\nprint("torch" in sys.modules, "scipy" in sys.modules, "unbraid.data.formats.pictures" in sys.modules, '
        "file=sys.stderr)"
    )
    done = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    assert done.stderr == "False False True\n"


def test_there_is_a_core():
    assert workers.num_cores() >= 1
