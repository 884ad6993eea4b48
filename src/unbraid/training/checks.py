"""The arguments of `train`, checked before anything is read or written."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from unbraid._internal import files
from unbraid._internal.version import __version__
from unbraid.config.annotations import in_short
from unbraid.errors import RunError, SpecError
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter
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


log = logging.getLogger(__name__)


def refuse_unfinished(runs: Sequence[Run]) -> None:
    """Raises if a run was begun and not finished."""
    unfinished = [run for run in runs if run.status == "unfinished"]
    if unfinished:
        raise RunError(
            f"{len(unfinished)} of these runs were begun and not finished (the first is {unfinished[0].folder}). "
            "Resume them (--resume, or resume=True), or archive them and start again (--force, or "
            "TrainingOptions(force=True))."
        )


def refuse_locked(runs: Sequence[Run]) -> None:
    """Raises early if another process has locked a run. They are locked for good later."""
    for run in runs:
        RunWriter(run).check_unlocked()


def check_specs(runs: Sequence[Run]) -> None:
    """Raises if the folder of a run holds the spec of another."""
    for run in runs:
        if run.status != "new":
            RunWriter(run).check_spec()


def warn_of_other_versions(runs: Sequence[Run]) -> None:
    """Warns once if runs that are reused were made by another version of unbraid."""
    found = [(run, run.version) for run in runs if run.status in ("finished", "failed")]
    others = [(run, version) for run, version in found if version != __version__]
    if others:
        versions = " and ".join(sorted({str(version) for _, version in others}))
        log.warning(
            "%d of the runs that were found were made by unbraid %s (the first is %s); this is %s. They are used as "
            "they are; --force (TrainingOptions(force=True)) trains them again.",
            len(others),
            versions,
            others[0][0].folder,
            __version__,
        )
