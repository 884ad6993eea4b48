"""How training goes, shown while it goes: a live display on a screen, a line now and then elsewhere."""

import contextlib
import math
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from unbraid.cli.amounts import amount_text, capitalised, size_text
from unbraid.cli.console import SECONDS_BETWEEN_LINES, note, output, say
from unbraid.cli.tables import median
from unbraid.data.progress import watched
from unbraid.runs.run import Run
from unbraid.runs.spec_words import spec_labels
from unbraid.training.events import Compiling, Encoding, Event, Progress, TrainingPlan

_IMAGES = "Drawing or reading the images"


class TrainingDisplay(ABC):
    """Shows training while its block runs. `watch` and `warn` are what `train_runs` takes."""

    @abstractmethod
    def __enter__(self) -> "TrainingDisplay": ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    @abstractmethod
    def watch(self, event: Event) -> None: ...

    @abstractmethod
    def warn(self, message: str) -> None: ...


def training_display(runs: Sequence[Run]) -> TrainingDisplay:
    """The display that suits standard output, for the training of these runs."""
    console = output()
    return LiveDisplay(console, runs) if console.is_terminal else PlainDisplay(runs)


@final
class PlainDisplay(TrainingDisplay):
    """The plan, a line when a fleet begins and ends, and at most one a minute between."""

    def __init__(self, runs: Sequence[Run], clock: Callable[[], float] = time.monotonic) -> None:
        self._labels = spec_labels([run.spec for run in runs])
        self._clock = clock
        self._fleet: tuple[str, ...] = ()
        self._last = clock()

    def __enter__(self) -> "PlainDisplay":
        say(f"{_IMAGES} ...")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    def watch(self, event: Event) -> None:
        match event:
            case TrainingPlan():
                say(plan_text(event))
            case Compiling():
                say(_compiling(event))
            case Progress():
                self._progress(event)
            case Encoding(runs):
                say(f"Encoding the images with {models(len(runs))} ...")

    def _progress(self, progress: Progress) -> None:
        fleet, now = tuple(run.name for run in progress.runs), self._clock()
        if fleet != self._fleet:
            self._fleet, self._last = fleet, now
            say(f"Training {models(len(progress.runs))} for {progress.num_steps} steps ...")
        if progress.step < progress.num_steps and now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        parts = (
            f"{label}: {', '.join(f'{name} {value:z.1f}' for name, value in means.items())}"
            for label, means in medians(progress, self._labels)
        )
        say(f"{_headline(progress)}. {'. '.join(parts)}.")

    def warn(self, message: str) -> None:
        note(message)


@final
class LiveDisplay(TrainingDisplay):
    """The plan, then a bar for each fleet and a table of losses, redrawn in place."""

    def __init__(self, console: Console, runs: Sequence[Run]) -> None:
        self._labels = spec_labels([run.spec for run in runs])
        self._latest: dict[tuple[str, ...], Progress] = {}
        self._is_over = False
        self._doing = f"{_IMAGES} ..."
        self._watching = contextlib.ExitStack()
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4)

    def __enter__(self) -> "LiveDisplay":
        self._live.start(refresh=True)
        # A bar of its own would fight with the display for the screen.
        self._watching.enter_context(watched(self._see_images))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over = True
        self._watching.close()
        self._live.stop()

    def watch(self, event: Event) -> None:
        match event:
            case TrainingPlan():
                self._say(plan_text(event))
            case Compiling(seconds=None):
                self._doing = _compiling(event)
            case Compiling():
                self._say(_compiling(event))
            case Progress():
                self._doing = ""
                self._latest[tuple(run.name for run in event.runs)] = event
            case Encoding(runs):
                self._doing = f"Encoding the images with {models(len(runs))} ..."

    def warn(self, message: str) -> None:
        self._say(f"Note: {message}")

    def _say(self, message: str) -> None:
        self._live.console.print(Text(message), soft_wrap=True)

    def _see_images(self, what: str, done: int, total: int, unit: str) -> None:
        self._doing = (
            f"{_IMAGES if 0 < total <= done else f'{capitalised(what)}: {amount_text(done, total, unit)}'} ..."
        )

    def _render(self) -> RenderableType:
        doing = [Text(self._doing)] if self._doing and not self._is_over else []
        if not self._latest:
            return Group(*doing)
        bars = Table.grid(padding=(0, 2))
        for progress in list(self._latest.values()):
            bar = ProgressBar(total=progress.num_steps, completed=progress.step, width=24)
            bars.add_row(models(len(progress.runs)), bar, _headline(progress))
        newest = list(self._latest.values())[-1]
        return Group(bars, _losses(newest, self._labels), *doing)


def plan_text(plan: TrainingPlan) -> str:
    """How many models in how many fleets, for how many steps, with how much memory."""
    sizes = [len(fleet) for fleet in plan.fleets]
    count = "1 model" if sum(sizes) == 1 else f"{sum(sizes)} models"
    fleets = "" if len(sizes) == 1 else f" in {len(sizes)} fleets, one after the other ({' + '.join(map(str, sizes))})"
    text = f"The plan: {count}{fleets}, {plan.num_steps} steps each, on {plan.device}."
    if plan.memory is not None:
        text += (
            f" A model takes at most {size_text(plan.memory.per_member)}, and {size_text(plan.memory.free)} are free."
        )
    return text + (f" Then {_others(plan.num_later)}." if plan.num_later else "")


def medians(progress: Progress, labels: dict[str, str]) -> list[tuple[str, dict[str, float]]]:
    """The loss and its parts for each spec of the fleet: the median over those of its seeds that have not failed."""
    members: dict[str, list[int]] = defaultdict(list)
    for index, run in enumerate(progress.runs):
        members[run.spec.digest].append(index)
    return [
        (
            labels[digest],
            {name: median([values[index] for index in indices]) for name, values in progress.losses.items()},
        )
        for digest, indices in members.items()
    ]


def duration(seconds: float) -> str:
    """`24 s`, `3 min 20 s`, `2 h 5 min`."""
    if not math.isfinite(seconds):
        return "unknown time"
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def models(count: int) -> str:
    return "1 model" if count == 1 else f"{count} models side by side"


def _compiling(event: Compiling) -> str:
    if event.seconds is None:
        return f"Compiling the step for {models(len(event.runs))} ..."
    return f"Compiled in {duration(event.seconds)}." if event.seconds > 0 else "It was compiled before."


def _others(count: int) -> str:
    return f"{count} other {'model' if count == 1 else 'models'}"


def _headline(progress: Progress) -> str:
    done = f"step {progress.step} of {progress.num_steps}"
    if progress.steps_per_second <= 0:
        return done
    left = f", {duration(progress.seconds_left)} left" if progress.seconds_left > 0 else ""
    later = f", then {_others(progress.num_later)}" if progress.num_later else ""
    return f"{done}, {progress.steps_per_second:.3g} steps/s{left}{later}"


def _losses(progress: Progress, labels: dict[str, str]) -> Table:
    table = Table(
        title="Nats per image, median over seeds", title_justify="left", title_style="dim", box=None, pad_edge=False
    )
    table.add_column("objective")
    for name in progress.losses:
        table.add_column(name.replace("_", " "), justify="right")
    for label, values in medians(progress, labels):
        table.add_row(label, *(f"{value:z.1f}" for value in values.values()))
    return table
