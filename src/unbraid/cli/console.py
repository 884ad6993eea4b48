"""Output of the commands: results and progress on standard output, notes and errors on standard error."""

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from typing import final

from rich.console import Console
from rich.text import Text

from unbraid.errors import shortened

_WIDTH_OFF_SCREEN = 160  # columns of tables in a file or a pipe


def output(*, stderr: bool = False) -> Console:
    """Returns a console for the current standard output or standard error."""
    console = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_OFF_SCREEN
    return console


def echo(message: str, style: str = "") -> None:
    """Prints a line on standard output without line breaks, so that paths and commands can be copied."""
    output().print(Text(message, style=style), soft_wrap=True)


def note(message: str) -> None:
    """Prints a note on standard error."""
    if hasattr(sys.stderr, "rich_proxied_file"):  # a running live display prints the text above itself
        sys.stderr.write(f"Note: {shortened(message)}\n")
        return
    output(stderr=True).print(Text.assemble(("Note: ", "yellow"), shortened(message)), soft_wrap=True)


def print_error(message: str) -> None:
    """Prints an error message on standard error."""
    output(stderr=True).print(Text.assemble(("Error: ", "bold red"), shortened(message)), soft_wrap=True)


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Prints each Python warning and each logged warning inside the block once, as a note without source location.

    Other logged messages are printed as lines on standard output.
    """
    from unbraid._internal.progress import noted  # late: it takes milliseconds

    logger, handler = logging.getLogger("unbraid"), _LogPrinter()
    logger.addHandler(handler)
    noted.clear()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("always", category=UserWarning)
            warnings.showwarning = lambda message, *_, **__: handler.note_once(str(message))
            yield
    finally:
        logger.removeHandler(handler)


@contextlib.contextmanager
def info_logging(name: str) -> Iterator[None]:
    """Sets the logger with this name to the level INFO inside the block."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)


@final
class _LogPrinter(logging.Handler):
    """Logging handler that prints each warning once as a note, and other messages as lines."""

    def __init__(self) -> None:
        super().__init__()
        self._noted: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self.note_once(record.getMessage())
        else:
            echo(record.getMessage())

    def note_once(self, message: str) -> None:
        if message not in self._noted:
            self._noted.add(message)
            note(message)
