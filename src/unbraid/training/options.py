"""Less common options of `train`, and the options recorded in the folder of a run."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

import numpy as np

from unbraid._internal import files
from unbraid._internal.short_repr import short_repr
from unbraid.config.annotations import check_value, hints_of
from unbraid.errors import RunError, SpecError


@final
@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Less common options of `train`. They do not change the final weights of a run, except for the last bits.

    Examples:
        >>> TrainingOptions(snapshots=[1000, 500]).snapshots
        (500, 1000)
    """

    workers: int | Literal["auto"] = "auto"
    """Number of processes on a CPU, each of which trains one model at a time with one thread. The results do not depend
    on this number, except for 0: then models are trained side by side in this process with all threads. "auto" uses one
    process per core for several models of at least 1,000 steps on images of at least 64 x 64 pixels; otherwise 0."""
    force: bool = False
    """Whether to train existing runs again. The old folders are moved to `.archived`."""
    checkpoint_every: int | None = None
    """Number of steps between two checkpoints. By default, checkpoints take less than 2 % of the training time."""
    stream: bool | None = None
    """Whether to stream images from disk. By default, only images that need more than half of the free memory."""
    deterministic: bool = False
    """Whether to compile identical GPU steps on all machines with the same GPU. Up to an eighth slower."""
    snapshots: Iterable[int] = ()
    """Steps at which to save weights, for `run.model(step)`, `run.codes(step=...)` and `run.score(step=...)`."""
    keep_state: bool = False
    """Whether to save the state of the last step, which `run.extend` requires."""
    held_out_every: int | None = None
    """Approximate number of steps between values of `held_out_elbo`, the ELBO on held-out images, in the history."""
    latent_information_every: int | None = None
    """Approximate number of steps between estimates of I(x; z_d), `information_z0`, ..., in the history."""

    __repr__ = short_repr

    def __post_init__(self) -> None:
        for name, annotation in hints_of(type(self)).items():
            if name == "snapshots":  # any iterable, converted below
                continue
            value = check_value(getattr(self, name), annotation, name)
            if name.endswith("_every") and value is not None and value < 1:
                raise SpecError(f"{name} is {value}; expected 1 or more. Give a number of steps, or omit {name}.")
            object.__setattr__(self, name, value)
        if self.workers != "auto" and self.workers < 0:
            raise SpecError(f'workers is {self.workers}; expected "auto", or a number of processes from 0 on.')
        given: Any = self.snapshots
        given = given if np.iterable(given) else [given]
        try:
            steps = tuple(sorted({0 if isinstance(step, bool) else operator.index(step) for step in given}))
        except TypeError:
            steps = (0,)
        if steps and steps[0] < 1:
            raise SpecError(
                f"snapshots is {self.snapshots!r}; expected integers >= 1. Give numbers of steps, e.g. [1000, 5000]."
            )
        object.__setattr__(self, "snapshots", steps)

    def check(self, num_steps: int) -> None:
        """Raises an error if a snapshot after the last step is requested."""
        if late := [step for step in self.snapshots if step > num_steps]:
            raise SpecError(
                f"snapshots contains step {late[-1]:,}; expected at most {num_steps:,}, the last step. Omit the step, "
                "or increase num_steps."
            )

    def record(self, folder: Path) -> None:
        """Adds `snapshots` and `keep_state` to the recorded options of a run, which a resumed run uses too."""
        before = recorded_options(folder)
        snapshots, keep_state = sorted({*self.snapshots, *before.snapshots}), self.keep_state or before.keep_state
        if (tuple(snapshots), keep_state) != (before.snapshots, before.keep_state):
            files.write_sealed(folder / "extras.json", {"snapshots": snapshots, "keep_state": keep_state})


def recorded_options(folder: Path) -> TrainingOptions:
    """Reads the recorded `snapshots` and `keep_state` of a run. Returns the defaults without a record."""
    path = folder / "extras.json"
    if not path.exists():
        return TrainingOptions()
    try:
        record: dict[str, Any] = files.read_sealed(path)
        return TrainingOptions(snapshots=record["snapshots"], keep_state=bool(record["keep_state"]))
    except (OSError, ValueError, KeyError, SpecError) as error:
        raise RunError(
            f"{path} cannot be read ({error}). Remove the file, and request missing snapshots again."
        ) from None
