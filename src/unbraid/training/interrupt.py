"""Ctrl-C and SIGTERM, turned into a question that the loop asks between two steps."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import final

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@final
@dataclass
class Interrupt:
    """Whether somebody has asked to stop."""

    requested: bool = False


@contextlib.contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Within the block, the first signal is noted and the second ends the process as it would have without us.

    Only the main thread may handle signals; elsewhere nothing is changed.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.requested = True
        for each in _SIGNALS:
            signal.signal(each, before[each])

    for number in _SIGNALS:
        signal.signal(number, note)
    try:
        yield interrupt
    finally:
        for number in _SIGNALS:
            signal.signal(number, before[number])
