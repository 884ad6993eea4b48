"""How far the drawing, converting, fetching and verifying of data is, on standard error: a bar on a screen, elsewhere a
line now and then.
"""

import contextlib
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from unbraid.cli.amounts import amount_text, capitalised
from unbraid.cli.console import SECONDS_BETWEEN_LINES, errors
from unbraid.data.progress import watched

# Work that is over sooner needs no bar, which would only flicker, and no line in a log.
SECONDS_BEFORE_A_BAR = 0.5
SECONDS_BEFORE_A_LINE = 5.0
_NARROW = 100


@contextlib.contextmanager
def data_progress() -> Iterator[None]:
    """Inside the block, work on data that takes long shows how far it is."""
    console = errors()
    watcher: DataWatcher = DataBar(console) if console.is_terminal else DataLines(console)
    try:
        with watched(watcher):
            yield
    finally:
        watcher.close()


class DataWatcher(ABC):
    """What `progress.watched` takes: called with what is being done, how much of it is done, of how much, and in which
    unit.
    """

    @abstractmethod
    def __call__(self, what: str, done: int, total: int, unit: str) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Leave the screen as it was: the work is over, or was given up."""


@final
class DataBar(DataWatcher):
    """A bar for the work at hand, which goes away when the work is done."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        # Work may be done in another thread than the one that began it.
        self._lock = threading.Lock()
        self._what, self._began = "", 0.0
        self._bar: Progress | None = None

    def __call__(self, what: str, done: int, total: int, unit: str) -> None:
        with self._lock:
            if what != self._what:
                self._stop()
                self._what, self._began = what, self._clock()
            amount = amount_text(done, total, unit)
            if 0 < total <= done:
                self._stop()
            elif self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=done, total=total or None, amount=amount)
            elif self._clock() - self._began >= SECONDS_BEFORE_A_BAR:
                self._bar = self._new_bar()
                # What was done before the bar came is no measure of speed.
                self._bar.add_task(capitalised(what), completed=done, total=total or None, amount=amount)
                self._bar.start()

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _new_bar(self) -> Progress:
        # A line is cut, never broken in two.
        is_narrow = self._console.width < _NARROW
        return Progress(
            TextColumn(
                "{task.description}", markup=False, table_column=Column(max_width=28 if is_narrow else 44, no_wrap=True)
            ),
            BarColumn(bar_width=12 if is_narrow else 24),
            TextColumn("{task.fields[amount]}", markup=False),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
        )

    def _stop(self) -> None:
        self._what = ""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


@final
class DataLines(DataWatcher):
    """A line when the work turns out to be long, at most one a minute from then on, and one at its end."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._lock = threading.Lock()
        self._what, self._next, self._is_told = "", 0.0, False

    def __call__(self, what: str, done: int, total: int, unit: str) -> None:
        with self._lock:
            now, is_over = self._clock(), 0 < total <= done
            if what != self._what:
                self._what, self._next, self._is_told = what, now + SECONDS_BEFORE_A_LINE, False
            if now >= self._next or (is_over and self._is_told):
                self._next, self._is_told = now + SECONDS_BETWEEN_LINES, True
                self._console.print(Text(f"{capitalised(what)}: {amount_text(done, total, unit)}."), soft_wrap=True)
            if is_over:
                self._what = ""

    def close(self) -> None:
        return None
