"""What is there already of the runs that are asked for, and what of it stands in the way."""

import logging
from collections.abc import Sequence

from unbraid.errors import RunError
from unbraid.runs.run import Run
from unbraid.runs.run_writer import RunWriter
from unbraid.version import __version__

log = logging.getLogger(__name__)


def refuse_unfinished(runs: Sequence[Run]) -> None:
    """Raises if a run was begun and not finished."""
    unfinished = [run for run in runs if run.status == "unfinished"]
    if unfinished:
        raise RunError(
            f"{len(unfinished)} of these runs were begun and not finished (the first is {unfinished[0].folder}). "
            "Go on with them (--resume, or resume=True), or put them aside and start afresh (--force, or force=True)."
        )


def refuse_those_in_use(runs: Sequence[Run]) -> None:
    """Raises if a run is in use, before anything is read or made. The runs are locked later, so this only saves a wait
    in vain.
    """
    for run in runs:
        RunWriter(run).check_unlocked()


def check_specs(runs: Sequence[Run]) -> None:
    """Raises if the folder of a run holds the spec of another."""
    for run in runs:
        if run.status != "new":
            RunWriter(run).check_spec()


def name_other_versions(runs: Sequence[Run]) -> None:
    """Warns once of runs that are found again and were made by another version of unbraid."""
    found = [(run, run.version) for run in runs if run.status in ("finished", "failed")]
    others = [(run, version) for run, version in found if version != __version__]
    if others:
        versions = " and ".join(sorted({str(version) for _, version in others}))
        log.warning(
            "%d of the runs that were found were made by unbraid %s (the first is %s); this is %s. They are used as "
            "they are; --force (force=True) trains them again.",
            len(others),
            versions,
            others[0][0].folder,
            __version__,
        )
