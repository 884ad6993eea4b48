"""Ctrl-C, SIGTERM and SIGHUP, turned into a question that the loop asks between two steps, and how it ends."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import final

from unbraid.errors import TrainingInterrupted
from unbraid.runs.run import Run

GO_ON = "Go on with the same command and --resume (in Python, resume=True)."

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@final
@dataclass
class Interrupt:
    """Holds whether a stop was asked for."""

    requested: bool = False


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Notes the first signal within the block, and lets the second end the process as it would have without us.

    A signal that is ignored stays ignored: `nohup` asks for that. Only the main thread may handle signals; elsewhere
    nothing is changed.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    # None is a handler that Python did not set and could not put back.
    before = {
        number: handler for number in _SIGNALS if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }

    def put_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.requested = True
        put_back()

    for number in before:
        signal.signal(number, note)
    try:
        yield interrupt
    finally:
        put_back()


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Lets Ctrl-C end the block at once, as no step is taken in it."""
    try:
        yield
    except KeyboardInterrupt:
        raise TrainingInterrupted(f"Stopped before the next step, as asked; nothing is lost. {GO_ON}") from None


@contextlib.contextmanager
def naming_runs(runs: Sequence[Run]) -> Iterator[None]:
    """Makes whatever Ctrl-C raises within the block, which trains these runs, say which of them can be resumed."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        _end_in_a_sentence()
        at_once = not isinstance(stopped, TrainingInterrupted)
        message = f"Stopped at once, as asked; what is finished is kept. {GO_ON}" if at_once else str(stopped)
        unfinished = [run for run in runs if run.status == "unfinished"]
        raise TrainingInterrupted(message, unfinished, at_once=at_once) from None


def _end_in_a_sentence() -> None:
    """Makes a program that does not catch a TrainingInterrupted end with its sentence and without a traceback, from now
    on. All else is shown as it was.
    """
    before = sys.excepthook
    if getattr(before, "shows_sentences", False):
        return

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, TrainingInterrupted):
            sys.stderr.write(f"{error}\n")
        else:
            before(kind, error, traceback)

    show.shows_sentences = True  # type: ignore[attr-defined]
    sys.excepthook = show
