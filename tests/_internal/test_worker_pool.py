"""A pool of processes: what is ordered is answered; what dies, hangs or is canceled holds nobody up."""

import os
import re
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import unbraid
from unbraid._internal.worker_pool import WorkerPool

TASKS = "tests._internal.tasks"
ROOT = Path(__file__).parents[2]


def answers(pool, requests):
    for task_id, request in requests.items():
        pool.submit(task_id, request)
    ended = []
    while pool.num_waiting:
        ended += pool.wait(60)
    return {each.task_id: each for each in ended}


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("count", [0, 2])
def test_every_order_is_answered(count):
    with closing(WorkerPool(f"{TASKS}:double", [{}] * count)) as pool:
        ended = answers(pool, {number: {"number": number} for number in range(5)})
    assert {task_id: each.answer["doubled"] for task_id, each in ended.items()} == {n: 2 * n for n in range(5)}
    assert len({each.answer["pid"] for each in ended.values()} - {os.getpid()}) <= count


def test_messages_of_a_task_arrive_in_order_and_once():
    with closing(WorkerPool(f"{TASKS}:report", [{}])) as pool:
        answers(pool, {"a": {"count": 3}})
        assert list(pool.messages()) == [{"number": number} for number in range(3)]
        assert list(pool.messages()) == []


@pytest.mark.parametrize("count", [0, 1])
def test_an_exception_ends_its_order_alone(count):
    with closing(WorkerPool(f"{TASKS}:fail", [{}] * count)) as pool:
        ended = answers(pool, {"a": {"number": 1}, "b": {"number": 2}})
    assert {task_id: (each.how, each.reason) for task_id, each in ended.items()} == {
        "a": ("raised", "ValueError: not 1"),
        "b": ("raised", "ValueError: not 2"),
    }


def test_a_process_that_dies_is_replaced(tmp_path):
    request = {"marker": str(tmp_path / "died")}
    with closing(WorkerPool(f"{TASKS}:die_once", [{}])) as pool:
        ended = answers(pool, {"a": request, "b": request})
    assert (ended["a"].how, ended["b"].how) == ("lost", "answered")
    assert "-9" in ended["a"].reason


def test_a_worker_has_time_to_save_what_it_is_at(tmp_path):
    started = tmp_path / "started"
    with closing(WorkerPool(f"{TASKS}:sleep", [{}], grace=30)) as pool:
        pool.submit("a", {"started": str(started)})
        until(started.exists)
    assert started.with_suffix(".saved").exists()


def test_closing_does_not_wait_for_a_worker_that_does_not_stop(tmp_path):
    started = tmp_path / "started"
    pool = WorkerPool(f"{TASKS}:sleep", [{}], grace=0.2)
    pool.submit("a", {"started": str(started), "stubborn": True})
    pool.submit("b", {"started": str(tmp_path / "never")})
    until(started.exists)
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 10
    assert not (tmp_path / "never").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


@pytest.mark.parametrize("pause", [0.0, 0.001, 0.01])
def test_closing_does_not_wait_for_a_worker_that_is_started_meanwhile(tmp_path, pause):
    pool = WorkerPool(f"{TASKS}:sleep", [{}] * 4)
    for place in range(4):
        pool.submit(place, {"started": str(tmp_path / f"{place}"), "stubborn": True})
    time.sleep(pause)
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 10
    assert all(worker.process.poll() is not None for worker in pool._workers)


def test_a_canceled_order_does_not_end(tmp_path):
    started = tmp_path / "started"
    with closing(WorkerPool(f"{TASKS}:sleep", [{}])) as pool:
        pool.submit("a", {"started": str(started), "stubborn": True})
        until(started.exists)
        assert set(pool.seconds_silent()) == {"a"}
        pool.submit("b", {"started": str(tmp_path / "never")})
        pool.cancel("b")
        pool.cancel("a")
        assert (pool.num_waiting, pool.wait(0)) == (0, [])
        until(lambda: not pool.seconds_silent())
    assert not (tmp_path / "never").exists()


def test_a_worker_whose_pool_is_killed_saves_and_ends_without_a_traceback(tmp_path):
    started = tmp_path / "started"
    code = (
        "from unbraid._internal.worker_pool import WorkerPool\n"
        f"pool = WorkerPool('{TASKS}:sleep', [{{}}])\n"
        f"pool.submit('a', {{'started': {str(started)!r}}})\n"
        "pool.wait(60)\n"
    )
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with (tmp_path / "errors").open("wb") as errors:
        command = [sys.executable, "-c", code]
        process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stderr=errors)
        until(lambda: started.exists() and started.read_text())
        process.kill()
        process.wait()
    until(started.with_suffix(".saved").exists)
    until(lambda: not is_running(int(started.read_text())))
    assert (tmp_path / "errors").read_bytes() == b""


def is_running(pid):
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_workers_import_nothing_from_the_current_folder_that_is_installed(tmp_path, monkeypatch):
    (tmp_path / "einops.py").write_text("raise SystemExit('executed')")
    (tmp_path / "sitecustomize.py").write_text("from pathlib import Path\nPath('executed').touch()")
    monkeypatch.chdir(tmp_path)
    for first in ("", str(tmp_path)):
        monkeypatch.setattr(sys, "path", [first, *sys.path, str(ROOT)])
        with closing(WorkerPool(f"{TASKS}:import_module", [{}])) as pool:
            (ended,) = answers(pool, {"a": {}}).values()
        assert ended.how == "answered", ended.reason
        assert str(tmp_path) not in ended.answer["file"]
        assert not (tmp_path / "executed").exists()


def test_the_pool_alone_starts_python():
    source = Path(unbraid.__file__).parent
    starting = [
        path.name
        for path in source.rglob("*.py")
        if re.search(r"sys\.executable,|import multiprocessing|ProcessPoolExecutor", path.read_text())
    ]
    assert starting == ["worker_pool.py"]
