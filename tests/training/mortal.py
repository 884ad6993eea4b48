"""Trains in processes that die, for test_train.py, which runs it as `python -m tests.training.mortal FOLDER`.

First an undisturbed life, in the folder `undisturbed`. All others are forks, so that torch is imported and warmed up
once. A life that is left alone ends by itself, with the runs finished.
"""

import itertools
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from tests.training.squares import CONV_SPEC
from unbraid.training import Progress, train

# Small, but of a kind for which company matters in float32, so that a fleet that is not put together again as it was
# would be found out.
SPEC = replace(CONV_SPEC, precision="float32", num_steps=6)
SEEDS = (0, 1)


def live(folder: Path, **options: Any) -> None:
    train([SPEC], SEEDS, folder=folder, resume=True, checkpoint_every=2, **options)


def forked(life: Callable[[], None]) -> int:
    """Begin a life, and return its process id."""
    pid = os.fork()
    if pid == 0:
        life()
        os._exit(0)
    return pid


def ended_by(pid: int) -> int:
    """The number of the signal that ended a life, and 0 if it ended well."""
    return -os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def dying_at_change(number: int) -> None:
    """From here on this process is killed just before it makes its n-th change to the disk."""
    changes = itertools.count(1)

    def mortal(change: Callable[..., Any]) -> Callable[..., Any]:
        def dying(*arguments: Any, **options: Any) -> Any:
            if next(changes) == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return change(*arguments, **options)

        return dying

    for name in ("replace", "unlink", "rmdir"):
        setattr(os, name, mortal(getattr(os, name)))


def at_every_change(folder: Path) -> None:
    """In folder n, a life that dies at its n-th change to the disk, and one that goes on; until one gets through."""
    for number in itertools.count(1):

        def life(number: int = number) -> None:
            dying_at_change(number)
            live(folder / str(number))

        if not ended_by(forked(life)):
            return
        assert not ended_by(forked(lambda number=number: live(folder / str(number))))


def at_random(folder: Path) -> None:
    """Lives that are killed at random moments, each going on where the last one fell, until one gets through or five
    were killed.
    """
    moments, began = random.Random(0), time.monotonic()
    assert not ended_by(forked(lambda: live(folder / "measured")))
    lifetime = time.monotonic() - began
    for _ in range(5):
        pid = forked(lambda: live(folder / "killed"))
        time.sleep(lifetime * moments.uniform(0, 0.6))
        os.kill(pid, signal.SIGKILL)
        if not ended_by(pid):
            return
    assert not ended_by(forked(lambda: live(folder / "killed")))


def by_two_signals(folder: Path) -> None:
    """A life that is asked to stop twice between two steps, by a signal that Python leaves to the system."""

    def ask_twice(event: Any) -> None:
        if isinstance(event, Progress) and event.step == 3:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)

    assert ended_by(forked(lambda: live(folder, watch=ask_twice))) == signal.SIGTERM
    assert not ended_by(forked(lambda: live(folder)))


if __name__ == "__main__":
    torch.set_num_threads(1)  # a pool of threads does not survive a fork
    parent = Path(sys.argv[1])
    live(parent / "undisturbed")
    at_every_change(parent / "at_every_change")
    at_random(parent / "at_random")
    by_two_signals(parent / "by_two_signals")
