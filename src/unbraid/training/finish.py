"""From a trained fleet to finished runs."""

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
from unbraid.training.checkpoint import remove_checkpoints, save_last_good, save_snapshot, save_state
from unbraid.training.fleet import Fleet
from unbraid.training.options import Extras, read_extras
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.state import MemberState


def keep(
    fleet: Fleet, members: Sequence[int], runs: Sequence[Run], images: FactorImages, seconds: float
) -> list[CodesError | None]:
    """Encodes all images with these members of a fleet, whose runs are `runs`, and keeps what they have learnt.

    Returns, for each, why it was not possible.
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
    """Marks a run, of which everything is written, as ended. The last good weights of one that failed are kept."""
    writer = RunWriter(run)
    writer.conclude()
    failure = run.failure
    writer.log("finished" if failure is None else f"failed at step {failure.step}: {failure.reason}")
    remove_checkpoints(run)


def keep_unencodable(run: Run, step: int, error: CodesError, fleet: Sequence[str]) -> None:
    """Records that the last step of a run led where no loss was computed any more."""
    reason = f"its last step led to a model that cannot encode the images ({error})"
    RunWriter(run).keep_failure(step, reason, None, fleet)


def keep_failed(run: Run, state: MemberState, reason: str, fleet: Sequence[str]) -> None:
    """Records that a member of the fleet has failed, and keeps its last good weights."""
    assert state.failed_at is not None
    RunWriter(run).keep_failure(state.failed_at, reason, save_last_good(run, state), fleet)


def _encoded(
    models: Sequence[AutoencoderModule], images: FactorImages, precision: Precision
) -> list[Codes | CodesError]:
    """Returns the codes of each model, or why it has none."""
    try:
        return list(encode_all(models, images, precision=precision))
    except CodesError as error:
        if len(models) == 1:
            return [error]
        return [outcome for model in models for outcome in _encoded([model], images, precision)]


log = logging.getLogger(__name__)


@final
class KeptExtras:
    """Saves the requested snapshots and states of a fleet. Members that have failed save nothing more."""

    def __init__(self, runs: Sequence[Run], fleet: Fleet) -> None:
        self._runs, self._fleet = runs, fleet
        self._extras = [read_extras(run.folder) for run in runs]
        self._steps = {step for extras in self._extras for step in extras.snapshots}
        missed = [
            (run, step)
            for run, extras in zip(runs, self._extras, strict=True)
            for step in extras.snapshots
            if step <= fleet.step and step not in run.snapshots
        ]
        if missed:
            log.warning(
                "A snapshot of step %d was asked for, and %s resumes from step %d. To have it, train the run again "
                "(--force, or TrainingOptions(force=True)).",
                missed[0][1],
                missed[0][0].name,
                fleet.step,
            )

    def after_step(self) -> None:
        """Keeps the weights, if it is a step after which they are wanted."""
        step = self._fleet.step
        if step not in self._steps:
            return
        alive = self._fleet.alive.tolist()
        wanted = [index for index, extras in enumerate(self._extras) if step in extras.snapshots and alive[index]]
        with writers() as pool:
            list(pool.map(lambda index: save_snapshot(self._runs[index], self._fleet.state(index)), wanted))

    def keep_states(self, members: Sequence[int], histories: Sequence[History]) -> None:
        """Keeps the states of these members, where wanted. Must be called before the run is said to be kept."""
        names = [run.name for run in self._runs]
        for index in members:
            if self._extras[index].keep_state:
                save_state(self._runs[index], self._fleet.state(index), names, histories[index])


def warn_of_missing(runs: Sequence[Run], extras: Extras) -> None:
    """Warns of finished runs that are reused and lack requested snapshots or states."""
    finished = [run for run in runs if run.status == "finished"]
    for step in extras.snapshots:
        _warn(
            [run for run in finished if step not in (*run.snapshots, run.spec.num_steps)], f"a snapshot of step {step}"
        )
    if extras.keep_state:
        _warn([run for run in finished if not run.has_state], "the state of its last step")


def _warn(runs: Sequence[Run], what: str) -> None:
    if runs:
        log.warning(
            "%d of the runs that were found have not kept %s (the first is %s): it was not asked for when they were "
            "trained. --force (TrainingOptions(force=True)) trains them again.",
            len(runs),
            what,
            runs[0].folder,
        )


_NUM_WRITERS = 4


def writers() -> ThreadPoolExecutor:
    """Returns a pool for a block of writes, whose errors surface when their results are read."""
    one_at_a_time = threading.Lock()

    def wake() -> None:
        # The first use of torch in a thread sets up its own threads. In a process that was forked, two that do so at
        # once get in each other's way.
        with one_at_a_time:
            torch.get_num_threads()

    return ThreadPoolExecutor(_NUM_WRITERS, thread_name_prefix="unbraid-write", initializer=wake)
