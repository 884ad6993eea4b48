"""Exception hierarchy. Every message states what was given, what was expected and how to fix it."""

from collections.abc import Sequence
from typing import Any

_MAX_MESSAGE = 4_000  # characters
_END = 1_000


def shortened(message: str) -> str:
    """Removes the middle of a long message. Its start and its end, which contains the fix, remain."""
    if len(message) <= _MAX_MESSAGE:
        return message
    start, end = message[: _MAX_MESSAGE - _END], message[-_END:]
    return f"{start} ... ({len(message) - _MAX_MESSAGE:,} characters left out) ... {end}"


class UnbraidError(Exception):
    """Base class of all errors of unbraid.

    The command line prints the message without a traceback and exits with `exit_code`.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


class SpecError(UnbraidError):
    """Raised for a config (dataset, model, objective, run) that cannot be built as given."""


class UntrustedError(SpecError):
    """Raised for a class whose package the caller does not trust. The class is not imported."""

    def __init__(self, message: str, package: str) -> None:
        super().__init__(message)
        self.package = package

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Supports pickling, which passes the error to another process."""
        return type(self), (str(self), self.package)


class DataError(UnbraidError):
    """Raised for images or factors that are missing, malformed, or different from their checksum."""


class CodesError(UnbraidError):
    """Raised for codes or labels that cannot be scored."""


class RunError(UnbraidError):
    """Raised for a run folder that is missing, in use, or damaged."""


class TrainingError(UnbraidError):
    """Raised for a valid spec whose training fails."""

    exit_code = 1


class TrainingInterrupted(KeyboardInterrupt):
    """Raised when training was stopped by Ctrl-C, SIGTERM or SIGHUP.

    `runs` lists the runs that can be resumed. `at_once` is True if training stopped in the middle of a step and the
    steps after the last checkpoints are lost. Like KeyboardInterrupt, this class is not a subclass of Exception.
    """

    def __init__(self, message: str, runs: Sequence[Any] = (), *, at_once: bool = False) -> None:
        self.runs, self.at_once = tuple(runs), at_once
        super().__init__(message + _resumable(self.runs))

    def _render_traceback_(self) -> list[str]:
        """Returns the lines to display in a notebook instead of a traceback."""
        return [str(self)]


def _resumable(runs: Sequence[Any]) -> str:
    if not runs:
        return ""
    if len(runs) == 1:
        return f" The run in {runs[0].folder} can be resumed."
    return f" {len(runs)} runs can be resumed (the first is {runs[0].folder})."
