"""What may happen to a life. Each is a context manager that takes the folder of the job, and lasts as long as the
life.
"""

import contextlib
import datetime
import errno
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.crash import job
from tests.crash.moments import Moments
from unbraid import cli
from unbraid.training.runs.run_writer import RunWriter


@contextlib.contextmanager
def measured(folder: Path) -> Iterator[None]:
    """Nothing happens; how many moments of each phase and kind there were is written down."""
    moments = Moments(folder)
    moments.watch()
    try:
        yield
    finally:
        (folder / "moments.json").write_text(json.dumps(moments.counts()))


@contextlib.contextmanager
def killed(folder: Path, at: list[Any]) -> Iterator[None]:
    Moments(folder, tuple(at), lambda path: os.kill(os.getpid(), signal.SIGKILL)).watch()
    yield


@contextlib.contextmanager
def killed_after_the_first(folder: Path, method: str) -> Iterator[None]:
    """SIGKILL when this was done with the first run of a fleet, and not with the others."""
    function, alone = getattr(RunWriter, method), threading.Lock()

    def do_and_die(*arguments: Any, **options: Any) -> None:
        with alone:
            function(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(RunWriter, method, do_and_die)
    yield


@contextlib.contextmanager
def checkpoints_by_the_clock(folder: Path) -> Iterator[None]:
    """As often as by default, which is not at all in a job as short as this."""
    job.checkpoint_every = None
    yield


@contextlib.contextmanager
def interrupted(folder: Path, at: list[Any], times: int = 1, by: str = "SIGINT") -> Iterator[None]:
    """Ctrl-C, once or twice, as from the keyboard; or another signal, which Python leaves to the system."""
    number = getattr(signal, by)
    before = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
    signal.signal(number, before)

    def press(path: str | None) -> None:
        os.kill(os.getpid(), number)
        for _ in range(times - 1):
            # A second one that comes before the first was heard is no second one. The main thread hears them, and then
            # no longer listens to two.
            _wait_until(lambda: signal.getsignal(number) in (before, cli._interrupt))
            os.kill(os.getpid(), number)

    Moments(folder, tuple(at), press).watch()
    yield


@contextlib.contextmanager
def failing(folder: Path, at: list[Any], error: str) -> Iterator[None]:
    """From a moment on the disk refuses: "ENOSPC" in the middle of a write, "EROFS" before a change."""
    number = getattr(errno, error)

    def refuse(path: str | None) -> None:
        raise OSError(number, os.strerror(number), path)

    Moments(folder, tuple(at), refuse, from_then_on=True).watch()
    yield


@contextlib.contextmanager
def paused(folder: Path, at: list[Any]) -> Iterator[None]:
    """At a moment the life says that it is there, and waits until `go-on` lies in the folder."""

    def wait(path: str | None) -> None:
        (folder / "waiting").touch()
        _wait_until((folder / "go-on").exists)

    Moments(folder, tuple(at), wait).watch()
    yield


@contextlib.contextmanager
def files_limited(folder: Path, num_bytes: int) -> Iterator[None]:
    """The system lets no file grow larger than this."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, num_bytes))
    yield


@contextlib.contextmanager
def not_allowed(folder: Path) -> Iterator[None]:
    """What lies in the folder may be read, not written. Root may do everything, so it lives as nobody."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    yield


@contextlib.contextmanager
def clock_going_back(folder: Path) -> Iterator[None]:
    """Whenever it is asked for the time, it is an hour earlier than the last time."""
    looks = [0]

    class Back(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:
            looks[0] += 1
            return datetime.datetime.now(tz) - datetime.timedelta(hours=looks[0])

    def earlier() -> float:
        looks[0] += 1
        return now() - 3600 * looks[0]

    now, time.time = time.time, earlier
    time.time_ns = lambda: int(earlier() * 1e9)
    fake = SimpleNamespace(**vars(datetime) | {"datetime": Back})
    for name, module in sys.modules.items():
        if name.startswith("unbraid.") and getattr(module, "datetime", None) is datetime:
            module.datetime = fake  # type: ignore[attr-defined]
    yield


def _wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(12_000):
        if condition():
            return
        time.sleep(0.005)
    raise TimeoutError("waited for a minute in vain")
