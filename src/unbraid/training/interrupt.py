"""Handling of Ctrl-C, SIGTERM and SIGHUP between two steps."""

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import final

from unbraid.errors import TrainingInterrupted
from unbraid.training.runs.run import Run

HOW_TO_RESUME = "Resume with the same command and --resume (in Python, resume=True)."

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # Windows has no SIGHUP; only Windows has SIGBREAK (Ctrl-Break)
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


@final
@dataclass
class Interrupt:
    """Flag that a signal has requested a stop."""

    requested: bool = False


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Records the first signal inside the block instead of stopping. The second signal has its usual effect.

    Ignored signals stay ignored, as `nohup` requires. Outside the main thread, signal handling does not change.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    # None is a handler that was not set by Python and cannot be restored.
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
def terminable() -> Iterator[None]:
    """Raises KeyboardInterrupt on SIGTERM and SIGHUP inside the block, except for ignored or handled signals."""
    is_main = threading.current_thread() is threading.main_thread()
    ends = [number for number in _SIGNALS if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ends:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ends:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Delays signals: raises TrainingInterrupted after the block if a signal arrived. The block must not take steps.

    The block imports parts of torch and runs Python from C++, where an exception could be lost or end the process.
    """
    stopped = TrainingInterrupted(f"Stopped by a signal before the next step; nothing is lost. {HOW_TO_RESUME}")
    try:
        with interruptible() as interrupt:
            yield
    except KeyboardInterrupt:
        raise stopped from None
    if interrupt.requested:
        raise stopped


@contextlib.contextmanager
def naming_runs(runs: Sequence[Run]) -> Iterator[None]:
    """Converts a KeyboardInterrupt inside the block to a TrainingInterrupted with the resumable runs."""
    try:
        yield
    except KeyboardInterrupt as stopped:
        at_once = not isinstance(stopped, TrainingInterrupted)
        message = f"Stopped at once by a signal. Finished runs are saved. {HOW_TO_RESUME}" if at_once else str(stopped)
        unfinished = [run for run in runs if run.status == "unfinished"]
        raise TrainingInterrupted(message, unfinished, at_once=at_once) from None
