"""Progress of long work: events, callbacks, and a progress bar on a terminal or in a notebook."""

import contextlib
import html
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import KW_ONLY, dataclass, field, replace
from math import inf, isfinite, nan
from statistics import median
from typing import Any, final

from unbraid._internal.amounts import amount_text, capitalized, duration

SECONDS_BEFORE_A_BAR = 0.5
_SECONDS_BETWEEN_UPDATES = 0.25


@final
@dataclass(frozen=True)
class Event:
    """Progress of a task: `done` of `total` units. A total of 0 is unknown. `str(event)` is a one-line summary.

    `values` maps the name of the loss and of each loss term to one number per run in `runs`, NaN for a failed run.
    `within` lists the events of the enclosing tasks, outermost first, as set by `part_of`.
    """

    about: str
    done: int = 0
    total: int = 0
    unit: str = ""
    text: str = ""
    _: KW_ONLY
    runs: tuple[str, ...] = ()
    values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    per_second: float = 0.0
    seconds_left: float | None = None
    within: tuple["Event", ...] = ()

    @property
    def outermost(self) -> "Event":
        return self.within[0] if self.within else self

    @property
    def is_over(self) -> bool:
        return 0 < self.total <= self.done

    @property
    def share(self) -> float:
        """Completed fraction of the outermost task, from 0 to 1. A nested task is one unit of its enclosing task."""
        share = 0.0
        for event in (self, *reversed(self.within)):
            share = min(1.0, (event.done + share) / event.total) if event.total else 0.0
        return share

    @property
    def pace(self) -> str:
        """Speed and remaining time as text."""
        speed = f"{self.per_second:.3g} {self.unit}/s" if self.per_second > 0 else ""
        left = self.seconds_left or 0.0
        return _joined(speed, f"{duration(left)} left" if 0 < left < float("inf") else "")

    @property
    def medians(self) -> dict[str, float]:
        """Median of each value over the runs with a finite value."""
        finite = {name: [value for value in values if isfinite(value)] for name, values in self.values.items()}
        return {name: median(values) for name, values in finite.items() if values}

    @property
    def summary(self) -> str:
        """Text after the name of the outermost task: current nested task, amount, speed and loss."""
        where = ": ".join(each.text or each.about for each in (*self.within, self)) if self.within else ""
        loss = [f"{name} {value:z.1f}" for name, value in self.medians.items()][:1]
        return _joined(where, self._amount, self.pace, "" if self.within else self.text, *loss)

    def __str__(self) -> str:
        return "; ".join(event._line() for event in (*self.within, self))

    @property
    def _amount(self) -> str:
        return amount_text(self.done, self.total, self.unit) if self.unit else ""

    def _line(self) -> str:
        """Returns the event as text, without its enclosing events."""
        runs = {0: "", 1: f" ({', '.join(self.runs)})"}.get(len(self.runs), f" ({len(self.runs)} runs)")
        numbers = (f"{name.replace('_', ' ')} {value:z.4g}" for name, value in self.medians.items())
        details = _joined(self._amount, self.pace, self.text, *numbers)
        return capitalized(self.about) + runs + (f": {details}" if details else "")


Listener = Callable[[Event], None]

# Context variables, so that a progress bar in one thread does not show the events of another thread.
_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())
_display: ContextVar[Listener | None] = ContextVar("display", default=None)
_within: ContextVar[tuple[Event, ...]] = ContextVar("within", default=())


def emit(event: Event) -> None:
    """Passes an event to all callbacks, then to the display. Drops events emitted by a callback or the display."""
    display = _display.get()
    called = (*_listeners.get(), *([display] if display else []))
    if not called:
        return
    event = replace(event, within=(*_within.get(), *event.within))
    with _set(_listeners, ()), showing(None):
        for listener in called:
            listener(event)


def listening(*listeners: Listener | None) -> contextlib.AbstractContextManager[None]:
    """Calls these listeners with every event inside the block."""
    return _set(_listeners, (*_listeners.get(), *(each for each in listeners if each is not None)))


def showing(display: Listener | None) -> contextlib.AbstractContextManager[None]:
    """Replaces the display of events inside the block; None shows nothing."""
    return _set(_display, display or (lambda event: None))


def merged_display(num_steps: Mapping[str, int]) -> contextlib.AbstractContextManager[None]:
    """Shows the training of several runs as one event inside the block. Callbacks receive the events of each run.

    `num_steps` maps the name of each run to its number of steps.
    """
    return showing(_Merged(_display.get() or (lambda _: None), num_steps))


@contextlib.contextmanager
def part_of(event: Event) -> Iterator[None]:
    """Emits an event, and nests all events inside the block in this event."""
    emit(event)
    with _set(_within, (*_within.get(), event)):
        yield


@contextlib.contextmanager
def progress_bar(watch: Listener | None = None, *, show: bool) -> Iterator[Callable[[str], None]]:
    """Calls `watch` with events inside the block. With `show`, also shows a bar on a terminal or in a notebook.

    Nested calls show no second bar. Yields a function that prints a line above the bar.
    """
    from rich.console import Console  # late: the import takes 40 ms

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with listening(watch):
        if show and _display.get() is None and (console.is_terminal or console.is_jupyter):
            with contextlib.closing(Bar(console)) as bar, showing(bar):
                yield bar.print
        else:
            with contextlib.nullcontext() if show else showing(None):
                yield lambda line: None


def note_once(log: logging.Logger, note: str) -> None:
    """Logs a note as a warning, unless this process has logged it before."""
    if note not in noted:
        noted.add(note)
        log.warning(note)


noted: set[str] = set()
"""The notes that this process has logged."""


@final
class _Merged:
    """Display of the training of several runs as one event. Other events of single runs are not shown."""

    def __init__(self, display: Listener, num_steps: Mapping[str, int]) -> None:
        self._display, self._num_steps, self._first = display, num_steps, (nan, nan)
        self._done: dict[str, int] = {}
        self._values: dict[str, dict[str, float]] = {}

    def __call__(self, event: Event) -> None:
        if event.about != "training":
            return
        is_first = not self._done
        for place, run in enumerate(event.runs):
            self._done[run] = event.done
            self._values[run] = {name: values[place] for name, values in event.values.items()}
        now, share = time.monotonic(), sum(self._done.values()) / sum(self._num_steps.values())
        self._first = (now, share) if is_first else self._first
        speed, total = (share - self._first[1]) / max(1e-9, now - self._first[0]), max(self._num_steps.values())
        names = dict.fromkeys(name for values in self._values.values() for name in values)
        values = {name: [self._values.get(run, {}).get(name, nan) for run in self._num_steps] for name in names}
        merged = replace(
            event,
            done=int(share * total),
            total=total,
            runs=tuple(self._num_steps),
            values=values,
            per_second=speed * total,
            seconds_left=(1 - share) / speed if speed > 0 else inf,
        )
        self._display(merged)


@final
class Bar:
    """Progress bar of the current outermost task.

    The bar is removed when the task is complete. In a notebook, one line stays.
    """

    def __init__(self, console: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock, self._lock = console, clock, threading.Lock()
        self._about, self._began, self._next = "", 0.0, 0.0
        self._shown: Any = None  # the handle of IPython's display, or the bar of rich

    def __call__(self, event: Event) -> None:
        with self._lock:
            now, about = self._clock(), event.outermost.about
            if about != self._about:
                self._remove()
                self._about, self._began, self._next = about, now, now + SECONDS_BEFORE_A_BAR
            if event.is_over and not event.within:
                loss = [f"{name} {value:z.1f}" for name, value in event.medians.items()][:1]
                took = f"{event._amount or 'finished'} in {duration(now - self._began)}"
                self._remove(f"{capitalized(about)}: {_joined(took, *loss)}")
            elif now >= self._next:
                if event.seconds_left is None and event.share > 0:
                    event = replace(event, seconds_left=(now - self._began) * (1 / event.share - 1))
                if self._console.is_jupyter:
                    self._next = now + _SECONDS_BETWEEN_UPDATES  # each update is sent to the browser
                    self._show_in_notebook(event)
                else:
                    self._show_on_terminal(event)

    def print(self, line: str) -> None:
        """Prints a line, above the bar if there is one."""
        self._console.print(line, soft_wrap=True) if not self._console.is_jupyter else print(line)  # noqa: T201

    def close(self) -> None:
        with self._lock:
            self._remove()

    def _show_in_notebook(self, event: Event) -> None:
        """Displays the bar as HTML, because a rich progress bar needs ipywidgets in a notebook."""
        from IPython.display import display

        value = f' value="{event.share:.4f}" max="1"' if event.outermost.total else ""
        content = {"text/plain": str(event), "text/html": f"<progress{value}></progress> {html.escape(str(event))}"}
        if self._shown is None:
            self._shown = display(content, raw=True, display_id=True)
        else:
            self._shown.update(content, raw=True)

    def _show_on_terminal(self, event: Event) -> None:
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        if self._shown is None:
            name = Column(max_width=self._console.width // 3, no_wrap=True, overflow="ellipsis")
            rest = Column(no_wrap=True, overflow="ellipsis")
            self._shown = Progress(
                TextColumn("{task.description}", markup=False, table_column=name),
                BarColumn(self._console.width // 6),
                TextColumn("{task.fields[summary]}", markup=False, table_column=rest),
                console=self._console,
                transient=True,
            )
            self._shown.add_task(capitalized(event.outermost.about), summary=event.summary)
            self._shown.start()
        total = 1.0 if event.outermost.total else None
        self._shown.update(0, total=total, completed=event.share, summary=event.summary, refresh=True)

    def _remove(self, line: str = "") -> None:
        """Removes the bar. In a notebook, the line stays in its place."""
        self._about = ""
        if self._shown is not None and self._console.is_jupyter:
            self._shown.update({"text/plain": line, "text/html": html.escape(line)}, raw=True)
        elif self._shown is not None:
            self._shown.stop()
        self._shown = None


@contextlib.contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def _joined(*texts: str) -> str:
    return ", ".join(text for text in texts if text)
