"""Where the commands print: results and progress on standard output, notes and errors on standard error."""

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, final

from rich.console import Console
from rich.text import Text

from unbraid._internal.progress import Event, showing
from unbraid.errors import shortened

# A table that goes into a file or through a pipe has no screen to fit on.
_WIDTH_OFF_SCREEN = 160
# A log that is read afterwards needs to show no more than that it was alive.
SECONDS_BETWEEN_LINES = 60.0


def output() -> Console:
    """Returns standard output, as it is now."""
    return _console(stderr=False)


def errors() -> Console:
    """Returns standard error, as it is now."""
    return _console(stderr=True)


def say(message: str, style: str = "") -> None:
    """Prints a line for the user. It is wrapped by the terminal alone, so that paths and commands can be copied."""
    output().print(Text(message, style=style), soft_wrap=True)


def note(message: str) -> None:
    """Prints what a person should know and a program need not."""
    if hasattr(sys.stderr, "rich_proxied_file"):  # a live display has the screen, and prints this above itself
        sys.stderr.write(f"Note: {shortened(message)}\n")
        return
    errors().print(Text.assemble(("Note: ", "yellow"), shortened(message)), soft_wrap=True)


def complain(message: str) -> None:
    """Prints why it did not work."""
    errors().print(Text.assemble(("Error: ", "bold red"), shortened(message)), soft_wrap=True)


@contextlib.contextmanager
def stage(description: str) -> Iterator[None]:
    """Says what is being done and, on a screen, shows beside a spinner how far it is."""
    console = output()
    if not console.is_terminal:
        say(f"{description} ...")
        yield
        return
    with console.status(Text(f"{description} ...")) as status:

        def show(event: Event) -> None:
            where = event.summary if event.within else f"{event.about}, {event.summary}"
            status.update(Text(f"{description}: {where} ..."))

        # A second bar would compete with the spinner for the line.
        with showing(show):
            yield


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Shows each warning once, as a note: where in the code it arose means nothing to a person at a terminal."""
    seen = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            note(str(message))

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def log_as_notes() -> Iterator[None]:
    """Shows each warning that is logged, once, as a note."""
    seen = set()

    def show(message: str) -> None:
        if message not in seen:
            seen.add(message)
            note(message)

    with _shown("unbraid", _Shown(show, logging.WARNING, logging.CRITICAL)):
        yield


@contextlib.contextmanager
def log_as_lines(name: str) -> Iterator[None]:
    """Shows what is logged under this name and is no warning: what is being done."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        with _shown(name, _Shown(say, logging.INFO, logging.INFO)):
            yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _shown(name: str, handler: logging.Handler) -> Iterator[None]:
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@final
class _Shown(logging.Handler):
    """Gives messages of these levels to what shows them."""

    def __init__(self, show: Callable[[str], None], least: int, most: int) -> None:
        super().__init__(least)
        self._show, self._most = show, most

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno <= self._most:
            self._show(record.getMessage())


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OFF_SCREEN
    return console
