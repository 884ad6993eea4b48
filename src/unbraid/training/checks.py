"""Checks of the arguments of `train` and of existing runs, before files are written."""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from unbraid._internal import files
from unbraid._internal.device import wide_device
from unbraid._internal.source import check_current
from unbraid._internal.version import __version__
from unbraid.config.annotations import in_short
from unbraid.config.digest import user_source
from unbraid.errors import RunError, SpecError
from unbraid.training.history_columns import check_columns
from unbraid.training.options import TrainingOptions
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.spec import RunSpec

log = logging.getLogger(__name__)


def requested_runs(specs: Any, seeds: Any, folder: Path | str) -> list[Run]:
    """Returns a run for each spec and seed. The folders need not exist."""
    several = [specs] if isinstance(specs, RunSpec) else specs
    if not isinstance(several, Iterable) or isinstance(several, (str, dict)):
        raise SpecError(f"specs is {in_short(several)}. Pass a RunSpec, or a list of RunSpecs.")
    if isinstance(seeds, (str, dict)) or not isinstance(seeds, Iterable):
        raise SpecError(
            f"seeds is {in_short(seeds)}; expected a list of seeds. Write seeds=[3] for the seed 3, or seeds=range(3) "
            "for the seeds 0, 1 and 2."
        )
    parent, numbers = files.folder_path(folder), list(seeds)
    if parent.exists() and not parent.is_dir():
        raise RunError(f"folder is {parent}, which is a file. Choose a new or existing folder.")
    return [Run.place(parent, spec, seed) for spec in several for seed in numbers]


def check_requests(runs: Sequence[Run], options: TrainingOptions, device: torch.device, *, resume: bool) -> None:
    """Raises an error if the runs cannot be trained with these options. Does not check existing folders."""
    if resume and options.force:
        raise SpecError("Got resume=True and force=True; expected at most one of them. Omit the other.")
    if len({run.folder for run in runs}) < len(runs):
        raise RunError("Got the same spec and seed twice; expected distinct runs. Remove the duplicate.")
    if wide_device(device) != device and any(run.spec.precision == "float64" for run in runs):
        raise SpecError(f"precision is 'float64', which {device} does not support. Use 'float32', or device='cpu'.")
    for run in runs:
        check_current(user_source(run.spec))
        options.check(run.spec.num_steps)
        check_columns(run.spec, options)


def check_unlocked(runs: Sequence[Run]) -> None:
    """Raises an error if another process trains one of the runs. The runs are locked later."""
    for run in runs:
        RunWriter(run).check_unlocked()


def check_existing(runs: Sequence[Run], options: TrainingOptions, *, resume: bool) -> None:
    """Raises an error if an existing run cannot be used, and warns if a finished run lacks requested files."""
    unfinished = [run for run in runs if run.status == "unfinished"]
    if unfinished and not resume:
        raise RunError(
            f"{len(unfinished)} of these runs are unfinished (the first is {unfinished[0].folder}). Resume the runs "
            "(--resume, or resume=True), or archive and restart the runs (--force, or TrainingOptions(force=True))."
        )
    for run in runs:
        if run.status != "new":
            RunWriter(run).check_spec()
    versions = [(run, run.version) for run in runs if run.status in ("finished", "failed")]
    others = [(run, version) for run, version in versions if version != __version__]
    if others:
        log.warning(
            "%d existing runs were trained by unbraid %s (the first is %s); this is %s. The runs are not changed. "
            "Train them again with --force (TrainingOptions(force=True)).",
            len(others),
            " and ".join(sorted({str(version) for _, version in others})),
            others[0][0].folder,
            __version__,
        )
    finished = [run for run in runs if run.status == "finished"]
    missing = {
        f"a snapshot of step {step}": [run for run in finished if step not in (*run.snapshots, run.spec.num_steps)]
        for step in options.snapshots
    }
    if options.keep_state:
        missing["the state of its last step"] = [run for run in finished if not run.has_state]
    for what, without in missing.items():
        if without:
            log.warning(
                "%d existing runs do not have %s, which was not requested in training (the first is %s). Train them "
                "again with --force (TrainingOptions(force=True)).",
                len(without),
                what,
                without[0].folder,
            )
