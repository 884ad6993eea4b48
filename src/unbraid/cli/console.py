"""Output of the commands: results and progress on standard output, notes and errors on standard error."""

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

_WIDTH_OFF_SCREEN = 160  # of tables in a file or a pipe


def output() -> Console:
    """Returns standard output, as it is now."""
    return _console(stderr=False)


def errors() -> Console:
    """Returns standard error, as it is now."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OFF_SCREEN
    return console


def say(message: str, style: str = "") -> None:
    """Prints a line. Only the terminal wraps it, so that paths and commands can be copied."""
    output().print(Text(message, style=style), soft_wrap=True)


def note(message: str) -> None:
    """Prints information for the user on standard error, apart from results."""
    if hasattr(sys.stderr, "rich_proxied_file"):  # a live display has the screen, and prints this above itself
        sys.stderr.write(f"Note: {shortened(message)}\n")
        return
    errors().print(Text.assemble(("Note: ", "yellow"), shortened(message)), soft_wrap=True)


def complain(message: str) -> None:
    """Prints an error."""
    errors().print(Text.assemble(("Error: ", "bold red"), shortened(message)), soft_wrap=True)


@contextlib.contextmanager
def stage(description: str) -> Iterator[None]:
    """Prints the work of the block and, on a screen, shows its progress beside a spinner."""
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
    """Shows each warning of the block once as a note, without its place in the code: raised ones and logged ones."""
    seen = set()

    def show_once(message: str) -> None:
        if message not in seen:
            seen.add(message)
            note(message)

    def show_warning(message: Warning | str, *where: Any, **others: Any) -> None:
        show_once(str(message))

    with warnings.catch_warnings(), _handled("unbraid", _Handler(show_once, logging.WARNING, logging.CRITICAL)):
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show_warning
        yield


@contextlib.contextmanager
def log_as_lines(name: str) -> Iterator[None]:
    """Prints what the block logs under this name, except warnings."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        with _handled(name, _Handler(say, logging.INFO, logging.INFO)):
            yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _handled(name: str, handler: logging.Handler) -> Iterator[None]:
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@final
class _Handler(logging.Handler):
    """Passes messages of these levels to a function."""

    def __init__(self, show: Callable[[str], None], least: int, most: int) -> None:
        super().__init__(least)
        self._show, self._most = show, most

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno <= self._most:
            self._show(record.getMessage())
