"""The arguments of `train`, checked before anything is read or written."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from unbraid._internal import files
from unbraid.config.annotations import in_short
from unbraid.errors import RunError, SpecError
from unbraid.training.runs.run import Run
from unbraid.training.runs.spec import RunSpec


def requested_runs(specs: Any, seeds: Any, folder: Path | str) -> list[Run]:
    """Returns a run for each spec and seed, whether its folder exists or not."""
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


def check_callback(watch: Any) -> None:
    """Raises if `watch` cannot be called with an event."""
    if watch is not None and not callable(watch):
        raise SpecError(f"watch is {in_short(watch)}; expected a function that is called with each event: watch=print.")
