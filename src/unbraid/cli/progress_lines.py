"""How far work is, on standard error: a bar on a screen, elsewhere a line now and then."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import final

from rich.console import Console
from rich.text import Text

from unbraid._internal.progress import Bar, Event, showing
from unbraid.cli.console import SECONDS_BETWEEN_LINES, errors

# Work that is over sooner needs no line in a log.
SECONDS_BEFORE_A_LINE = 5.0


@contextlib.contextmanager
def progress_of_commands() -> Iterator[None]:
    """Lets work that takes long show how far it is, inside the block."""
    console = errors()
    display = Bar(console) if console.is_terminal else Lines(console)
    try:
        with showing(display):
            yield
    finally:
        display.close()


@final
class Lines:
    """Prints a line when work turns out to be long, at most one a minute from then on, and one at its end."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._lock = threading.Lock()
        self._what, self._next, self._is_told = "", 0.0, False

    def __call__(self, event: Event) -> None:
        with self._lock:
            now, what, is_over = self._clock(), event.outermost.about, event.is_over and not event.within
            if what != self._what:
                self._what, self._next, self._is_told = what, now + SECONDS_BEFORE_A_LINE, False
            if now >= self._next or (is_over and self._is_told):
                self._next, self._is_told = now + SECONDS_BETWEEN_LINES, True
                self._console.print(Text(f"{event}."), soft_wrap=True)
            if is_over:
                self._what = ""

    def close(self) -> None:
        """Does nothing: lines stay."""
