"""The JSON records in the folder of a run, read with an error that names the file."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid.errors import RunError, SpecError, shortened

FORMAT = 1
_MAX_SHOWN = 60  # characters of what a file holds, in a message


@final
@dataclass(frozen=True)
class Failure:
    """Holds at which step, counted from 1, a run failed, why, and the safetensors file with its last good weights."""

    step: int
    reason: str
    last_good: Path | None

    def __str__(self) -> str:
        return f"{self.reason} at step {self.step}"


def read_record(path: Path) -> dict[str, Any]:
    """Returns the content of a JSON file of a run."""
    try:
        content = files.read_json(path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read ({error}). Restore it, or train this run again with --force.") from None
    if not isinstance(content, dict):
        raise RunError(
            f"{path} holds a {type(content).__name__}; expected an object. Restore it, or train this run again with "
            "--force."
        )
    return content


def read_spec(path: Path) -> dict[str, Any]:
    """Returns the content of spec.json as it was written."""
    content = read_record(path)
    if content.get("format") != FORMAT:
        raise RunError(
            f"{path} has format {content.get('format')!r}, written by unbraid {content.get('unbraid')!r}; this "
            f"version reads {FORMAT}. Restore it, read it with that version, or train this run again with --force."
        )
    if content.get("sha256") != files.seal(content):
        raise RunError(
            f"{path} was changed since it was written (its SHA-256 does not match). Restore it, or train this run "
            "again with --force."
        )
    return content


def failure_in(record: dict[str, Any], path: Path) -> Failure:
    """Returns the failure that a record at this path describes."""
    step, reason, last_good = record.get("step"), record.get("reason"), record.get("last_good")
    if (
        type(step) is not int
        or step.bit_length() > 63
        or not isinstance(reason, str)
        or not isinstance(last_good, str | None)
    ):
        raise _senseless(path, {"step": step, "reason": reason, "last_good": last_good})
    return Failure(step, shortened(reason), None if last_good is None else path.parent / last_good)


def fleet_in(record: dict[str, Any], path: Path) -> list[str]:
    """Returns the names of the fleet in a record at this path that may be concluded."""
    fleet = record.get("fleet")
    if not isinstance(fleet, list) or not all(isinstance(name, str) for name in fleet):
        raise _senseless(path, {"fleet": fleet})
    if "reason" in record:
        failure_in(record, path)
    return fleet


def _senseless(path: Path, found: dict[str, Any]) -> RunError:
    return RunError(
        f"{path} makes no sense ({str(found)[:_MAX_SHOWN]}). Restore it, or train this run again with --force."
    )


STATE = "state.json"
"""The file that vouches for the state of the last step, beside which its tensors lie."""
_FILE = "extras.json"


@final
@dataclass(frozen=True)
class Extras:
    """Holds the steps after which the weights are kept, and whether the state of the last step is: weights, what the
    optimizer remembers of them, and what the objective carries over.
    """

    snapshots: tuple[int, ...] = ()
    keep_state: bool = False

    def check(self, num_steps: int) -> None:
        """Refuses a snapshot that a run of so many steps will never come to."""
        if self.snapshots and self.snapshots[-1] > num_steps:
            raise SpecError(
                f"A snapshot of step {self.snapshots[-1]:,} was asked for, and the run has {num_steps:,} steps. Leave "
                "it out, or train for longer."
            )

    def with_those_of(self, folder: Path) -> "Extras":
        """Returns these together with those that were asked for before, so that a run that is resumed keeps what it
        was begun with.
        """
        before = read_extras(folder)
        return Extras(as_steps([*self.snapshots, *before.snapshots]), self.keep_state or before.keep_state)

    def write(self, folder: Path) -> None:
        """Writes down what was asked for, unless that is nothing."""
        if self != NOTHING_ELSE and self != read_extras(folder):
            files.write_sealed(folder / _FILE, {"snapshots": list(self.snapshots), "keep_state": self.keep_state})


NOTHING_ELSE = Extras()


def as_steps(given: Any) -> tuple[int, ...]:
    """Returns the steps after which weights are to be kept, the earliest first, each once; from one number or many."""
    try:
        steps = [operator.index(step) for step in (given if isinstance(given, Iterable) else [given])]
    except TypeError:
        steps = [0]
    if any(step < 1 for step in steps):
        raise SpecError(f"snapshots is {given!r}; expected whole numbers of steps from 1 on, such as [1000, 5000].")
    return tuple(sorted(set(steps)))


def read_extras(folder: Path) -> Extras:
    """Returns what was asked for when the run in this folder was trained; nothing where that is not written down."""
    path = folder / _FILE
    if not path.exists():
        return NOTHING_ELSE
    try:
        record: dict[str, Any] = files.read_sealed(path)
        return Extras(as_steps(record["snapshots"]), bool(record["keep_state"]))
    except (OSError, ValueError, KeyError, TypeError, SpecError) as error:
        raise RunError(
            f"{path} cannot be read ({error}). Remove it, and name the snapshots again that are still wanted."
        ) from None
