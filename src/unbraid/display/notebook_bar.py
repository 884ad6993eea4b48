"""A bar for the work at hand, in a notebook."""

import html
import time
from collections.abc import Callable
from typing import Any, final

from unbraid.amounts import capitalised, duration
from unbraid.display.words import detail, outermost
from unbraid.events import Event

_SECONDS_BETWEEN_LOOKS = 0.25


@final
class NotebookBar:
    """Shows the work that events are about below the cell, by IPython alone: no widgets have to be installed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._next = clock, 0.0
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        if self._clock() < self._next and not event.is_over:
            return
        self._next = self._clock() + _SECONDS_BETWEEN_LOOKS
        left = event.seconds_left
        words = f"{capitalised(outermost(event).about)}: {detail(event)}"
        words += f", {duration(left)} left" if left is not None and 0 < left < float("inf") else ""
        bar = f'<progress value="{event.share:.4f}" max="1"></progress>' if event.total else "<progress></progress>"
        self._show({"text/plain": words, "text/html": f"{bar} {html.escape(words)}"})

    def say(self, line: str) -> None:
        """Prints a line below the cell."""
        print(line)  # noqa: T201 (where a cell's output goes)

    def close(self) -> None:
        """Takes the bar away: the work is over, or was given up."""
        if self._handle is not None:
            self._show({"text/plain": "", "text/html": ""})

    def _show(self, content: dict[str, str]) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
