"""How training goes, shown while it goes: a live display on a screen, a line now and then elsewhere."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from unbraid._internal.amounts import capitalised
from unbraid._internal.progress import Event, showing
from unbraid.cli.console import SECONDS_BETWEEN_LINES, errors, output, say
from unbraid.cli.progress_lines import Lines
from unbraid.cli.tables import median
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec_text import spec_labels

_IMAGES = "Drawing or reading the images"


def training_display(runs: Sequence[Run]) -> "PlainDisplay | LiveDisplay":
    """Returns the display that suits standard output, for the training of these runs."""
    console = output()
    return LiveDisplay(console, runs) if console.is_terminal else PlainDisplay(runs)


@final
class PlainDisplay(contextlib.AbstractContextManager):
    """Prints the plan while its block runs, a line when a fleet begins and ends, and at most one a minute between."""

    def __init__(self, runs: Sequence[Run], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels, self._clock, self._showing = _labels(runs), clock, contextlib.ExitStack()
        self._fleet: tuple[str, ...] = ()
        self._last = clock()
        self._others = Lines(errors())

    def __enter__(self) -> "PlainDisplay":
        say(f"{_IMAGES} ...")
        self._showing.enter_context(showing(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._showing.close()

    def __call__(self, event: Event) -> None:
        match event.about:
            case "training":
                self._training(event)
            case "planning" | "compiling":
                say(_in_words(event))
            case "encoding images" if event.done == 0:
                say(_in_words(event))
            case "encoding images":
                pass
            case _:
                self._others(event)

    def _training(self, event: Event) -> None:
        now = self._clock()
        if event.runs != self._fleet:
            self._fleet, self._last = event.runs, now
            say(f"Training {models(len(event.runs))} for {event.total} steps ...")
        if not event.is_over and now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        parts = (
            f"{label}: {', '.join(f'{name} {value:z.1f}' for name, value in means.items())}"
            for label, means in medians(event, self._labels)
        )
        say(f"{_headline(event)}. {'. '.join(parts)}.")


@final
class LiveDisplay(contextlib.AbstractContextManager):
    """Shows the plan while its block runs, then a bar for each fleet and a table of losses, redrawn in place."""

    def __init__(self, console: Console, runs: Sequence[Run]) -> None:
        self._labels, self._showing = _labels(runs), contextlib.ExitStack()
        self._latest: dict[tuple[str, ...], Event] = {}
        self._is_over = False
        self._doing = f"{_IMAGES} ..."
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    def __enter__(self) -> "LiveDisplay":
        self._live.start(refresh=True)
        # A second bar would compete with the display for the screen.
        self._showing.enter_context(showing(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over = True
        self._showing.close()
        self._live.stop()

    def __call__(self, event: Event) -> None:
        match event.about:
            case "planning":
                self._say(_in_words(event))
            case "compiling" if event.done:
                self._say(_in_words(event))
            case "training":
                self._doing = ""
                self._latest[event.runs] = event
            case "encoding images" | "compiling":
                self._doing = _in_words(event)
            case _:
                what = f"{capitalised(event.outermost.about)}: {event.summary}"
                self._doing = f"{_IMAGES if event.is_over else what} ..."

    def _say(self, message: str) -> None:
        self._live.console.print(Text(message), soft_wrap=True)

    def _render(self) -> RenderableType:
        doing = [Text(self._doing)] if self._doing and not self._is_over else []
        if not self._latest:
            return Group(*doing)
        bars = Table.grid(padding=(0, 2))
        for event in list(self._latest.values()):
            bar = ProgressBar(total=event.total, completed=event.done, width=24)
            bars.add_row(models(len(event.runs)), bar, _headline(event))
        newest = list(self._latest.values())[-1]
        return Group(bars, _losses(newest, self._labels), *doing)


def medians(event: Event, labels: Mapping[str, str]) -> list[tuple[str, dict[str, float]]]:
    """Returns the loss and its parts for each spec of the fleet: the median over its seeds that have not failed.

    `labels` are the labels of the specs by the names of their runs.
    """
    members: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(event.runs):
        members[labels[name]].append(index)
    return [
        (label, {name: median([values[index] for index in indices]) for name, values in event.values.items()})
        for label, indices in members.items()
    ]


def models(count: int) -> str:
    return "1 model" if count == 1 else f"{count} models side by side"


def _labels(runs: Sequence[Run]) -> dict[str, str]:
    labels = spec_labels([run.spec for run in runs])
    return {run.name: labels[run.spec.digest] for run in runs}


def _in_words(event: Event) -> str:
    """Returns a sentence for an event of training that is no step."""
    match event.about:
        case "planning":
            return f"The plan: {event.text}"
        case "compiling":
            return event.text or f"Compiling the step for {models(len(event.runs))} ..."
        case _:
            return f"Encoding the images with {models(len(event.runs))} ..."


def _headline(event: Event) -> str:
    return ", ".join(words for words in (f"step {event.done} of {event.total}", event.pace, event.text) if words)


def _losses(event: Event, labels: Mapping[str, str]) -> Table:
    table = Table(
        title="Nats per image, median over seeds", title_justify="left", title_style="dim", box=None, pad_edge=False
    )
    table.add_column("objective")
    for name in event.values:
        table.add_column(name.replace("_", " "), justify="right")
    for label, values in medians(event, labels):
        table.add_row(label, *(f"{value:z.1f}" for value in values.values()))
    return table
