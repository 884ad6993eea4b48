"""The files of a trained fleet: snapshots and states, then codes and weights, which finish its runs."""

import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import final

import torch

from unbraid._internal.precision import Precision
from unbraid.codes import Codes
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import CodesError
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encode_all
from unbraid.training.checkpoint import remove_checkpoints, save_snapshot, save_state
from unbraid.training.fleet import Fleet
from unbraid.training.options import read_extras
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter

log = logging.getLogger(__name__)

_NUM_WRITERS = 4


@final
class KeptExtras:
    """Saves the requested snapshots and states of a fleet. Members that have failed save nothing more."""

    def __init__(self, runs: Sequence[Run], fleet: Fleet) -> None:
        self._runs, self._fleet = runs, fleet
        self._extras = [read_extras(run.folder) for run in runs]
        self._steps = {step for extras in self._extras for step in extras.snapshots}
        missed = [
            (step, run.name)
            for run, extras in zip(runs, self._extras, strict=True)
            for step in extras.snapshots
            if step <= fleet.step and step not in run.snapshots
        ]
        if missed:
            log.warning(
                "A snapshot of step %d was requested, and %s resumes from step %d. To have it, train the run again "
                "(--force, or TrainingOptions(force=True)).",
                *missed[0],
                fleet.step,
            )

    def after_step(self) -> None:
        """Saves the snapshots of this step, if there are any."""
        step = self._fleet.step
        if step not in self._steps:
            return
        alive = self._fleet.alive.tolist()
        chosen = [index for index, extras in enumerate(self._extras) if step in extras.snapshots and alive[index]]
        with writers() as pool:
            list(pool.map(lambda index: save_snapshot(self._runs[index], self._fleet.state(index)), chosen))

    def keep_states(self, members: Sequence[int], histories: Sequence[History]) -> None:
        """Saves the requested states of these members. Must be called before `keep`, whose record ends the run."""
        names = [run.name for run in self._runs]
        for index in members:
            if self._extras[index].keep_state:
                save_state(self._runs[index], self._fleet.state(index), names, histories[index])


def keep(
    fleet: Fleet, members: Sequence[int], runs: Sequence[Run], images: FactorImages, seconds: float
) -> list[CodesError | None]:
    """Encodes all images with these members of a fleet, which trains these `runs`, and writes codes and weights.

    Returns the errors of members that cannot encode the images.
    """
    models = [fleet.model(index) for index in members]
    names = [run.name for run in runs]

    def write(index: int, model: AutoencoderModule, outcome: Codes | CodesError) -> CodesError | None:
        if isinstance(outcome, CodesError):
            return outcome
        RunWriter(runs[index]).keep(model, outcome, seconds, names)
        return None

    with writers() as pool:
        return list(pool.map(write, members, models, _encoded(models, images, runs[0].spec.precision)))


def conclude(run: Run) -> None:
    """Marks a run, whose files are all written, as ended. The last good weights of a failed run are kept."""
    writer = RunWriter(run)
    writer.conclude()
    failure = run.failure
    writer.log("finished" if failure is None else f"failed at step {failure.step}: {failure.reason}")
    remove_checkpoints(run)


def writers() -> ThreadPoolExecutor:
    """Returns a pool of threads for writing files: one computes a checksum while another waits for the disk.

    Errors are raised when results are read.
    """
    one_at_a_time = threading.Lock()

    def wake() -> None:
        # The first use of torch in a thread sets up its own threads. In a process that was forked, two that do so at
        # once get in each other's way.
        with one_at_a_time:
            torch.get_num_threads()

    return ThreadPoolExecutor(_NUM_WRITERS, thread_name_prefix="unbraid-write", initializer=wake)


def _encoded(
    models: Sequence[AutoencoderModule], images: FactorImages, precision: Precision
) -> list[Codes | CodesError]:
    """Returns the codes of each model, or the error of a model that has none."""
    try:
        return list(encode_all(models, images, precision=precision))
    except CodesError as error:
        if len(models) == 1:
            return [error]
        return [outcome for model in models for outcome in _encoded([model], images, precision)]
