"""Options of `train` that few runs need, and those that a run records."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from unbraid._internal import files
from unbraid.config.annotations import check_value, hints_of
from unbraid.errors import RunError, SpecError


@final
@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of `train` that few runs need. None of them changes the weights that a run ends with.

    Examples:
        >>> TrainingOptions(snapshots=[1000, 500]).snapshots
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
        for name, annotation in hints_of(type(self)).items():
            if name == "snapshots":  # any iterable, converted below
                continue
            value = check_value(getattr(self, name), annotation, name)
            if name.endswith("_every") and value is not None and value < 1:
                raise SpecError(f"{name} is {value}; expected 1 step or more, or None to leave it out.")
            object.__setattr__(self, name, value)
        given: Any = self.snapshots
        given = given if np.iterable(given) else [given]
        try:
            steps = tuple(sorted({0 if isinstance(step, bool) else operator.index(step) for step in given}))
        except TypeError:
            steps = (0,)
        if steps and steps[0] < 1:
            raise SpecError(
                f"snapshots is {self.snapshots!r}; expected whole numbers of steps from 1 on, such as [1000, 5000]."
            )
        object.__setattr__(self, "snapshots", steps)

    def check(self, num_steps: int) -> None:
        """Raises if there is a snapshot of a later step than the last one."""
        if late := [step for step in self.snapshots if step > num_steps]:
            raise SpecError(
                f"A snapshot of step {late[-1]:,} was requested, and the run has {num_steps:,} steps. Leave it out, or "
                "train for longer."
            )

    def record(self, folder: Path) -> None:
        """Adds the snapshots and the state to those that the run in a folder records, for when it is resumed."""
        before = recorded_options(folder)
        snapshots, keep_state = sorted({*self.snapshots, *before.snapshots}), self.keep_state or before.keep_state
        if (tuple(snapshots), keep_state) != (before.snapshots, before.keep_state):
            files.write_sealed(folder / "extras.json", {"snapshots": snapshots, "keep_state": keep_state})


def recorded_options(folder: Path) -> TrainingOptions:
    """Returns the snapshots and the state that the run in this folder records; none if it has no such record."""
    path = folder / "extras.json"
    if not path.exists():
        return TrainingOptions()
    try:
        record: dict[str, Any] = files.read_sealed(path)
        return TrainingOptions(snapshots=record["snapshots"], keep_state=bool(record["keep_state"]))
    except (OSError, ValueError, KeyError, SpecError) as error:
        raise RunError(
            f"{path} cannot be read ({error}). Remove it, and name the snapshots again that are still wanted."
        ) from None
