"""A bar for the current work, on a terminal or below the cell of a notebook. rich and IPython are imported late."""

import contextlib
import html
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, final

from unbraid._internal.amounts import capitalised
from unbraid._internal.progress import Event, Listener, is_shown, listening, showing

SECONDS_BEFORE_A_BAR = 0.5
_SECONDS_BETWEEN_UPDATES = 0.25


@contextlib.contextmanager
def shown(progress: bool, watch: Listener | None = None) -> Iterator[Callable[[str], None]]:
    """Calls `watch` with events inside the block and, with `progress`, shows them on a terminal or in a notebook.

    Events that are shown already are not shown again. Gives a function that prints a line there.
    """
    from rich.console import Console

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with listening(watch):
        if progress and not is_shown() and (console.is_terminal or console.is_jupyter):
            with contextlib.closing(Bar(console)) as bar, showing(bar):
                yield bar.print
        else:
            with contextlib.nullcontext() if progress else showing(None):
                yield lambda line: None


@final
class Bar:
    """Shows the work that events are about in one line, which disappears when the work is over."""

    def __init__(self, console: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock, self._lock = console, clock, threading.Lock()
        self._about, self._began, self._next = "", 0.0, 0.0
        self._live: Any = None

    def __call__(self, event: Event) -> None:
        with self._lock:
            now, about = self._clock(), event.outermost.about
            if about != self._about:
                self._stop()
                wait = 0.0 if self._console.is_jupyter else SECONDS_BEFORE_A_BAR  # a bar for less would flicker
                self._about, self._began, self._next = about, now, now + wait
            if event.is_over and not event.within:
                self._stop()
            elif now >= self._next:
                if event.seconds_left is None and event.share > 0:
                    event = replace(event, seconds_left=(now - self._began) * (1 / event.share - 1))
                if self._console.is_jupyter:
                    self._next = now + _SECONDS_BETWEEN_UPDATES
                    self._show_in_notebook(event)
                else:
                    self._show_on_terminal(event)

    def print(self, line: str) -> None:
        """Prints a line, above the bar if there is one."""
        self._console.print(line, soft_wrap=True) if not self._console.is_jupyter else print(line)  # noqa: T201

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _show_on_terminal(self, event: Event) -> None:
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        is_narrow = self._console.width < 100
        line = Table.grid(padding=(0, 1))
        for width in (28 if is_narrow else 44, 12 if is_narrow else 24, None):
            line.add_column(max_width=width, no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(1.0 if event.outermost.total else None, event.share, pulse=not event.outermost.total)
        line.add_row(Text(capitalised(self._about)), bar, Text(event.summary))
        if self._live is None:
            self._live = Live(line, console=self._console, transient=True)
            self._live.start(refresh=True)
        self._live.update(line)

    def _show_in_notebook(self, event: Event) -> None:
        text = f"{capitalised(self._about)}: {event.summary}"
        value = f' value="{event.share:.4f}" max="1"' if event.outermost.total else ""
        content = {"text/plain": text, "text/html": f"<progress{value}></progress> {html.escape(text)}"}
        if self._live is None:
            from IPython.display import display

            self._live = display(content, raw=True, display_id=True)
        else:
            self._live.update(content, raw=True)

    def _stop(self) -> None:
        self._about = ""
        if self._live is not None and self._console.is_jupyter:
            self._live.update({"text/plain": "", "text/html": ""}, raw=True)
        elif self._live is not None:
            self._live.stop()
        self._live = None
