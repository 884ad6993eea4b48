"""Ctrl-C, SIGTERM and SIGHUP, turned into a question that the loop asks between two steps."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import final

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@final
@dataclass
class Interrupt:
    """Whether somebody has asked to stop."""

    requested: bool = False


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Within the block, the first signal is noted and the second ends the process as it would have without us.

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
