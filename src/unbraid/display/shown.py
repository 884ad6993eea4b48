"""Whether and where the progress of a call is shown."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from unbraid.display.notebook_bar import NotebookBar
from unbraid.events import is_shown, showing

if TYPE_CHECKING:
    from unbraid.display.bar import Bar


@contextlib.contextmanager
def shown(progress: bool) -> Iterator[Callable[[str], None]]:
    """Shows events inside the block on a terminal or in a notebook, unless they are shown already, and gives a function
    that prints a line there. Elsewhere, and without `progress`, there is silence.
    """
    display = _display() if progress and not is_shown() else None
    if display is None:
        with contextlib.nullcontext() if progress else showing(None):
            yield _say_nothing
        return
    try:
        with showing(display):
            yield display.say
    finally:
        display.close()


def _display() -> "Bar | NotebookBar | None":
    """Returns the display that suits where Python runs, as rich finds out; None where there is no screen."""
    from rich.console import Console

    from unbraid.display.bar import Bar

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if console.is_jupyter:
        return NotebookBar()
    return Bar(console) if console.is_terminal else None


def _say_nothing(line: str) -> None:
    """Prints nothing."""
