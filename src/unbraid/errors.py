"""Exception hierarchy. Every message states what was given, what was expected and how to fix it."""

from collections.abc import Sequence
from typing import Any

_MAX_MESSAGE = 4_000  # characters
_END = 1_000


def shortened(message: str) -> str:
    """Returns a message without its middle if it is long. It may quote a file, and its advice is at its end."""
    if len(message) <= _MAX_MESSAGE:
        return message
    start, end = message[: _MAX_MESSAGE - _END], message[-_END:]
    return f"{start} ... ({len(message) - _MAX_MESSAGE:,} characters left out) ... {end}"


class UnbraidError(Exception):
    """Base of all errors raised on purpose. The command line prints it without a traceback and exits with
    `exit_code`.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(message))


class SpecError(UnbraidError):
    """Raised for a config (dataset, model, objective, run) that cannot be built as given."""


class UntrustedError(SpecError):
    """Raised for a class of a package that was not named as one to trust, so that it is not imported."""

    def __init__(self, message: str, package: str) -> None:
        super().__init__(message)
        self.package = package

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        """Returns how another process, such as a worker of a pool, makes the same error."""
        return type(self), (str(self), self.package)


class DataError(UnbraidError):
    """Raised for images or factors that are missing, malformed or not what their checksum says."""


class CodesError(UnbraidError):
    """Raised for codes that a metric cannot score."""


class RunError(UnbraidError):
    """Raised for a run folder that is missing, in use, or not what it claims to be."""


class TrainingError(UnbraidError):
    """Raised when training started from a good spec and failed all the same."""

    exit_code = 1


class TrainingInterrupted(KeyboardInterrupt):
    """Raised when training was stopped: by Ctrl-C, or because the system sent SIGTERM or SIGHUP.

    `runs` are those that can be resumed. `at_once` says that it ended in the middle of a step, so what came after their
    last checkpoints is lost. It is no Exception, so that a loop over many trainings that catches those stops as well.
    """

    def __init__(self, message: str, runs: Sequence[Any] = (), *, at_once: bool = False) -> None:
        self.runs, self.at_once = tuple(runs), at_once
        super().__init__(message + _resumable(self.runs))

    def _render_traceback_(self) -> list[str]:
        """Returns what a notebook shows instead of a traceback."""
        return [str(self)]


def _resumable(runs: Sequence[Any]) -> str:
    if not runs:
        return ""
    if len(runs) == 1:
        return f" The run in {runs[0].folder} can be resumed."
    return f" {len(runs)} runs can be resumed (the first is {runs[0].folder})."
