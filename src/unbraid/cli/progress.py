"""Progress of commands and of training: a bar or a table on a terminal, and lines of text in a file or a pipe."""

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from unbraid._internal.progress import Bar, Event, showing
from unbraid.cli.console import echo, output

if TYPE_CHECKING:
    from unbraid.training.runs.run import Run

SECONDS_BEFORE_A_LINE = 5.0  # shorter work prints no line
_SECONDS_BETWEEN_LINES = 60.0
_IMAGES = "Drawing or reading the images"


@contextlib.contextmanager
def progress_of_commands() -> Iterator[None]:
    """Shows the progress of long work inside the block on standard error."""
    console = output(stderr=True)
    if console.is_terminal:
        with contextlib.closing(Bar(console)) as bar, showing(bar):
            yield
    else:
        with showing(Lines(console)):
            yield


@final
class Lines:
    """Progress printer for work of more than five seconds: at most one line per minute, and one at the end."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._lock = threading.Lock()
        self._about, self._next, self._has_lines = "", 0.0, False

    def __call__(self, event: Event) -> None:
        with self._lock:
            now, about, is_over = self._clock(), event.outermost.about, event.is_over and not event.within
            if about != self._about:
                self._about, self._next, self._has_lines = about, now + SECONDS_BEFORE_A_LINE, False
            if now >= self._next or (is_over and self._has_lines):
                self._next, self._has_lines = now + _SECONDS_BETWEEN_LINES, True
                self._console.print(Text(f"{event}."), soft_wrap=True)
            if is_over:
                self._about = ""


@contextlib.contextmanager
def training_display(runs: "Sequence[Run]", console: Console | None = None) -> "Iterator[PlainDisplay | LiveDisplay]":
    """Shows the progress of training these runs inside the block, by default on standard output."""
    from rich.live import Live

    from unbraid.training.runs.spec_text import spec_labels

    by_digest = spec_labels([run.spec for run in runs])
    labels, console = {run.name: by_digest[run.spec.digest] for run in runs}, console or output()
    if not console.is_terminal:
        echo(f"{_IMAGES} ...")
        with showing(plain := PlainDisplay(labels)):
            yield plain
        return
    display = LiveDisplay(console, labels)
    live = Live(console=console, get_renderable=display.render, refresh_per_second=4)
    live.start(refresh=True)
    try:
        with showing(display):
            yield display
    finally:
        display.doing = ""
        live.stop()


@final
class PlainDisplay:
    """Training display of printed lines: the plan, the start and end of each fleet, and at most one line per minute.

    `labels` maps the name of each run to the label of its spec.
    """

    def __init__(self, labels: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels, self._clock = labels, clock
        self._fleet: tuple[str, ...] = ()
        self._last = 0.0
        self._others = Lines(output(stderr=True))

    def __call__(self, event: Event) -> None:
        if event.about != "training":
            if not (message := _message(event)):
                self._others(event)
            elif event.about != "encoding images" or event.done == 0:
                echo(message)
            return
        now = self._clock()
        if event.runs != self._fleet:
            self._fleet, self._last = event.runs, now
            echo(f"Training {_models(event)} for {event.total} steps ...")
        if not event.is_over and now - self._last < _SECONDS_BETWEEN_LINES:
            return
        self._last = now
        parts = (
            f"{label}: {', '.join(f'{name} {value:z.1f}' for name, value in values.items())}"
            for label, values in medians(event, self._labels)
        )
        echo(f"{_headline(event)}. {'. '.join(parts)}.")


@final
class LiveDisplay:
    """Training display on a terminal: the plan, a bar for each fleet, a table of losses, and the current task.

    `labels` maps the name of each run to the label of its spec.
    """

    def __init__(self, console: Console, labels: Mapping[str, str]) -> None:
        self._console, self._labels = console, labels
        self._latest: dict[tuple[str, ...], Event] = {}
        self.doing = f"{_IMAGES} ..."

    def __call__(self, event: Event) -> None:
        if event.about == "training":
            self.doing = ""
            self._latest[event.runs] = event
        elif not (message := _message(event)):
            self.doing = f"{_IMAGES if event.is_over else event} ..."
        elif message.endswith("..."):
            self.doing = message
        else:
            self._console.print(Text(message), soft_wrap=True)

    def render(self) -> RenderableType:
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        from unbraid.cli.tables import columns

        doing = [Text(self.doing)] if self.doing else []
        if not self._latest:
            return Group(*doing)
        bars = Table.grid(padding=(0, 2))
        for event in list(self._latest.values()):
            bar = ProgressBar(total=event.total, completed=event.done, width=24)
            bars.add_row(_models(event), bar, _headline(event))
        newest = list(self._latest.values())[-1]
        losses = columns("objective")
        losses.title = "Nats per image, median over seeds"
        for name in newest.values:
            losses.add_column(name.replace("_", " "), justify="right")
        for label, values in medians(newest, self._labels):
            losses.add_row(label, *(f"{value:z.1f}" for value in values.values()))
        return Group(bars, losses, *doing)


def medians(event: Event, labels: Mapping[str, str]) -> list[tuple[str, dict[str, float]]]:
    """Returns the median of the loss and of each loss term for each label, over the seeds that have not failed."""
    from unbraid.cli.tables import median

    members: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(event.runs):
        members[labels[name]].append(index)
    return [
        (label, {name: median([values[index] for index in indices]) for name, values in event.values.items()})
        for label, indices in members.items()
    ]


def _models(event: Event) -> str:
    return "1 model" if len(event.runs) == 1 else f"{len(event.runs)} models side by side"


def _message(event: Event) -> str:
    """Returns a line for an event of planning, compiling or encoding; an empty text for other events."""
    if event.about == "planning":
        return f"Plan: {event.text}"
    if event.about == "compiling":
        return event.text or f"Compiling the step for {_models(event)} ..."
    return f"Encoding the images with {_models(event)} ..." if event.about == "encoding images" else ""


def _headline(event: Event) -> str:
    return ", ".join(text for text in (f"step {event.done} of {event.total}", event.pace, event.text) if text)
