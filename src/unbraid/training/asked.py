"""What `train` is asked for, checked before anything is read or made."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unbraid import files
from unbraid.errors import RunError, SpecError
from unbraid.recipes.annotations import check_value, in_short
from unbraid.runs.run import Run
from unbraid.runs.spec import RunSpec
from unbraid.training.checkpoint_times import CheckpointTimes
from unbraid.training.options import TrainingOptions


def asked_runs(specs: Any, seeds: Any, folder: Path | str) -> list[Run]:
    """Returns the runs of these specs and seeds, made or not."""
    several = [specs] if isinstance(specs, RunSpec) else specs
    if not isinstance(several, Iterable) or isinstance(several, (str, dict)):
        raise SpecError(f"specs is {in_short(several)}; expected a RunSpec, or a list of them.")
    if isinstance(seeds, (str, dict)) or not isinstance(seeds, Iterable):
        raise SpecError(
            f"seeds is {in_short(seeds)}; expected a list of seeds. Write seeds=[3] for the seed 3, or seeds=range(3) "
            "for the seeds 0, 1 and 2."
        )
    parent, numbers = files.folder_path(folder), list(seeds)
    if parent.exists() and not parent.is_dir():
        raise RunError(f"folder is {parent}, which is a file. Name a folder, new or not.")
    return [Run.place(parent, spec, seed) for spec in several for seed in numbers]


def check_options(options: TrainingOptions) -> None:
    """Raises where options make no sense by themselves or together."""
    if options.resume and options.force:
        raise SpecError("resume goes on with a run and force starts it afresh. Give one of them.")
    CheckpointTimes(check_value(options.checkpoint_every, int | None, "checkpoint_every"))


def check_listener(watch: Any) -> None:
    """Raises if the listener cannot be called with an event."""
    if watch is not None and not callable(watch):
        raise SpecError(f"watch is {in_short(watch)}; expected a function that is called with each event: watch=print.")
