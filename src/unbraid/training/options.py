"""Options of `train` that few runs need, and those that a run records."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid.config.annotations import check_value
from unbraid.errors import RunError, SpecError


@final
@dataclass(frozen=True)
class Extras:
    """Files that a run keeps beside its results: weights after some steps, and the state of the last step.

    A state holds the weights, the optimizer's state of them, and what the objective carries over.
    """

    snapshots: tuple[int, ...] = ()
    keep_state: bool = False

    def check(self, num_steps: int) -> None:
        """Raises if there is a snapshot of a later step than the last one."""
        if self.snapshots and self.snapshots[-1] > num_steps:
            raise SpecError(
                f"A snapshot of step {self.snapshots[-1]:,} was requested, and the run has {num_steps:,} steps. Leave "
                "it out, or train for longer."
            )

    def record(self, folder: Path) -> None:
        """Adds these to the extras that the run in a folder records, so that it keeps them when it is resumed."""
        before = read_extras(folder)
        snapshots = as_steps([*self.snapshots, *before.snapshots])
        extras = Extras(snapshots, self.keep_state or before.keep_state)
        if extras != before:
            content = {"snapshots": list(snapshots), "keep_state": extras.keep_state}
            files.write_sealed(folder / "extras.json", content)


def read_extras(folder: Path) -> Extras:
    """Returns the extras that the run in this folder records; none if it has no such record."""
    path = folder / "extras.json"
    if not path.exists():
        return Extras()
    try:
        record: dict[str, Any] = files.read_sealed(path)
        return Extras(as_steps(record["snapshots"]), bool(record["keep_state"]))
    except (OSError, ValueError, KeyError, TypeError, SpecError) as error:
        raise RunError(
            f"{path} cannot be read ({error}). Remove it, and name the snapshots again that are still wanted."
        ) from None


def as_steps(given: Any) -> tuple[int, ...]:
    """Returns one or many numbers of steps as a sorted tuple without duplicates."""
    try:
        steps = [operator.index(step) for step in (given if isinstance(given, Iterable) else [given])]
    except TypeError:
        steps = [0]
    if any(step < 1 for step in steps):
        raise SpecError(f"snapshots is {given!r}; expected whole numbers of steps from 1 on, such as [1000, 5000].")
    return tuple(sorted(set(steps)))


@final
@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of `train` that few runs need. None of them changes the weights that a run ends with.

    Examples:
        >>> TrainingOptions(snapshots=[1000, 500]).extras.snapshots
        (500, 1000)
    """

    force: bool = False
    """Whether runs that exist are trained again. Their folders are archived in `.archived`."""
    checkpoint_every: int | None = None
    """Steps between two checkpoints; by default as many as keep the time for checkpoints below 2 %."""
    stream: bool | None = None
    """Whether images are read from the disk as they are needed; by default, where they are too many for memory."""
    deterministic: bool = False
    """Whether a GPU compiles steps that are the same on every machine of its kind, up to an eighth slower."""
    snapshots: Iterable[int] = ()
    """Steps after which weights are kept, for `run.model(step)`, `run.codes(step=...)` and `run.score(step=...)`."""
    keep_state: bool = False
    """Whether the state of the last step is kept, so that `run.extend` can continue from it."""
    held_out_every: int | None = None
    """About every so many steps, the history has the ELBO on images that the subset holds out: `held_out_elbo`."""
    latent_information_every: int | None = None
    """About every so many steps, the history has I(x; z_d) of each latent from the batch: `information_z0`, ..."""

    def __post_init__(self) -> None:
        for name in ("checkpoint_every", "held_out_every", "latent_information_every"):
            every = check_value(getattr(self, name), int | None, name)
            if every is not None and every < 1:
                raise SpecError(f"{name} is {every}; expected 1 step or more, or None to leave it out.")
            object.__setattr__(self, name, every)
        object.__setattr__(self, "snapshots", as_steps(self.snapshots))

    @property
    def extras(self) -> Extras:
        """Returns what each run keeps beside its results."""
        return Extras(as_steps(self.snapshots), self.keep_state)
