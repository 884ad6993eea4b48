"""What a run keeps beside its end, where training was asked to."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid.errors import RunError, SpecError

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
