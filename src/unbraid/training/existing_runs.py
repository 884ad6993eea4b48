"""Runs that exist already when training starts: which are used, and which stop it."""

import logging
from collections.abc import Sequence

from unbraid._internal.version import __version__
from unbraid.errors import RunError
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter

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
