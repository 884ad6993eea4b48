"""Locks: one holder at a time, whatever becomes of it; and how many files may be open."""

import os
import resource
import signal
import subprocess
import sys
import threading

import pytest

from unbraid._internal import files
from unbraid.errors import RunError

# Locks

HOLDER = """
import sys, time
from pathlib import Path
from unbraid._internal import files
with files.locked(Path(sys.argv[1]), wait=False, purpose="training it"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_has_one_holder_and_is_free_when_its_process_is_killed(tmp_path):
    path = tmp_path / "folder" / ".lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            with (
                pytest.raises(RunError, match=r"\(.*\.lock"),
                files.locked(path, wait=False, purpose="training it"),
            ):
                pass
        finally:
            holder.send_signal(signal.SIGKILL)
    with files.locked(path, wait=False, purpose="training it"):
        pass


def test_a_lock_is_free_after_an_error_inside(tmp_path):
    with pytest.raises(ValueError, match="inside"), files.locked(tmp_path / ".lock", wait=False, purpose="failing"):
        raise ValueError("inside")
    with files.locked(tmp_path / ".lock", wait=False, purpose="going on"):
        pass


def test_who_waits_gets_the_lock_next(tmp_path):
    order = []

    def second():
        with files.locked(tmp_path / ".lock", wait=True, purpose="drawing"):
            order.append("second")

    waiter = threading.Thread(target=second)
    with files.locked(tmp_path / ".lock", wait=False, purpose="drawing"):
        waiter.start()
        waiter.join(timeout=0.1)
        assert waiter.is_alive()
        order.append("first")
    waiter.join(timeout=10)
    assert order == ["first", "second"]


def test_a_lock_whose_folder_disappears_between_two_looks_is_made_anew(tmp_path, monkeypatch):
    # As where its holder, another process, removes the folder of a run in which nothing was made.
    path, removed, opened = tmp_path / "folder" / ".lock", [], files.opened

    def remove_first(*given, **options):
        if not removed:
            removed.append(path.parent.rmdir())
        return opened(*given, **options)

    monkeypatch.setattr(files, "opened", remove_first)
    with files.locked(path, wait=True, purpose="training it"):
        assert removed
        assert path.exists()


FORKING_HOLDER = """
import os, sys, time
from pathlib import Path
from unbraid._internal import files
with files.locked(Path(sys.argv[1]), wait=False, purpose="training it"):
    if not os.fork():
        print(os.getpid(), flush=True)  # by the child: it has let go of the lock by then
    time.sleep(60)
"""


def test_a_forked_child_does_not_keep_the_lock_of_its_dead_parent(tmp_path):
    command = [sys.executable, "-c", FORKING_HOLDER, str(tmp_path / ".lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        child = int(holder.stdout.readline())
        try:
            with pytest.raises(RunError), files.locked(tmp_path / ".lock", wait=False, purpose="training it"):
                pass
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            with files.locked(tmp_path / ".lock", wait=False, purpose="training it"):
                os.kill(child, 0)  # it is there
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_lock_file_that_its_holder_removed_is_made_anew_by_the_next(tmp_path):
    path = tmp_path / "folder" / ".lock"
    seen = []

    def second():
        with files.locked(path, wait=True, purpose="training it"):
            seen.append(path.exists())

    waiter = threading.Thread(target=second)
    with files.locked(path, wait=False, purpose="training it"):
        waiter.start()
        waiter.join(timeout=0.2)  # so that it waits for this file, not for the next
        path.unlink()
        path.parent.rmdir()
    waiter.join(timeout=60)
    assert seen == [True]


# Limits


@pytest.mark.parametrize(
    ("limits", "wanted", "raised_to", "room"),
    [
        ((1024, 1024), 1100, None, 896),
        ((1024, 4096), 1100, 1228, 1100),
        ((256, resource.RLIM_INFINITY), 1100, 1228, 1100),
        ((64, 64), 100, None, 32),
        ((1024, 2048), 10, None, 896),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 1100, None, 1100),
        ((1, 1), 5, None, 1),
    ],
)
def test_the_limit_on_open_files_is_raised_as_far_as_needed(monkeypatch, limits, wanted, raised_to, room):
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: asked.append(limits))
    assert files.room_for_open_files(wanted) == room
    assert asked in ([], [limits]) if raised_to is None else asked == [(raised_to, limits[1])]


def test_where_the_limit_may_not_be_raised_it_stays(monkeypatch):
    def refuse(kind, limits):
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert files.room_for_open_files(1100) == 896
