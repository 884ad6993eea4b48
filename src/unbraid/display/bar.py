"""A bar for the work at hand, on a terminal."""

import math
import threading
import time
from collections.abc import Callable
from typing import Any, final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from unbraid.amounts import capitalised, duration
from unbraid.display.words import detail, outermost
from unbraid.events import Event

# Work that is over sooner needs no bar, which would only flicker.
SECONDS_BEFORE_A_BAR = 0.5
_NARROW = 100


@final
class Bar:
    """Shows the work that events are about in one line, which goes away when the work is done."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        # Work may be done in another thread than the one that began it.
        self._lock = threading.Lock()
        self._what, self._began = "", 0.0
        self._bar: Progress | None = None

    def __call__(self, event: Event) -> None:
        with self._lock:
            what = outermost(event).about
            if what != self._what:
                self._stop()
                self._what, self._began = what, self._clock()
            if event.is_over and not event.within:
                self._stop()
            elif self._bar is not None:
                self._bar.update(self._bar.task_ids[0], **_numbers(event))
            elif self._clock() - self._began >= SECONDS_BEFORE_A_BAR:
                self._bar = self._new_bar()
                # What was done before the bar came is no measure of speed.
                self._bar.add_task(capitalised(what), **_numbers(event))
                self._bar.start()

    def say(self, line: str) -> None:
        """Prints a line, above the bar if there is one."""
        self._console.print(Text(line), soft_wrap=True)

    def close(self) -> None:
        """Leaves the screen as it was: the work is over, or was given up."""
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
            TextColumn("{task.fields[detail]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            _TimeLeft(),
            console=self._console,
            transient=True,
        )

    def _stop(self) -> None:
        self._what = ""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _numbers(event: Event) -> dict[str, Any]:
    """Returns what a task of rich is told of an event."""
    completed, total = (event.share, 1.0) if event.within else (event.done, event.total or None)
    return {"completed": completed, "total": total, "detail": detail(event), "seconds_left": event.seconds_left}


@final
class _TimeLeft(ProgressColumn):
    """Shows the time that is left: as the work says or, where it does not, from its pace."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        said = task.fields["seconds_left"]
        seconds = task.time_remaining if said is None else said
        return Text(f"({duration(seconds)} left)" if seconds and math.isfinite(seconds) else "", no_wrap=True)
