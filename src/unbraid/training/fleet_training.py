"""Training of one fleet from its start to finished runs."""

import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, final

import torch

from unbraid._internal.amounts import duration
from unbraid._internal.precision import Precision
from unbraid._internal.progress import Event, emit
from unbraid._internal.version import __version__
from unbraid.codes import Codes
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import CodesError, TrainingInterrupted
from unbraid.models.autoencoder import AutoencoderModule
from unbraid.models.trained.encode import encode_all
from unbraid.training.checkpoint import (
    CheckpointTimes,
    remove_checkpoints,
    remove_later,
    save_checkpoint,
    save_last_good,
    save_snapshot,
    save_state,
)
from unbraid.training.compilation import CompileCache, Inductor
from unbraid.training.fleet import Fleet
from unbraid.training.history_columns import extra_columns
from unbraid.training.interrupt import HOW_TO_RESUME, Interrupt, interruptible
from unbraid.training.options import TrainingOptions, recorded_options
from unbraid.training.reporter import Reporter
from unbraid.training.runs.run import Run
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.starts import Start
from unbraid.training.state import Member, MemberState

log = logging.getLogger(__name__)

# Number of members encoded in one pass over the images. Training can be stopped between two such groups.
_ENCODED_AT_ONCE = {"cpu": 4, "cuda": 64}
_NUM_WRITERS = 4


@final
class FleetTraining:
    """Training of the runs of a `Start` in one fleet, with checkpoints and results on disk."""

    def __init__(
        self,
        start: Start,
        images: FactorImages,
        options: TrainingOptions,
        *,
        cache: CompileCache,
        steps_later: int = 0,
    ) -> None:
        self._began = time.monotonic()
        self._runs, self._images = start.runs, images
        self._names = [run.name for run in start.runs]
        self._num_steps = start.runs[0].spec.num_steps
        self._fleet = Fleet([Member(run.spec, run.seed) for run in start.runs], images, cache=cache)
        self._fleet.restore(start.states())
        for run in start.runs:
            remove_later(run, start.step)
        for run in start.runs:
            RunWriter(run).log(
                f"training from step {start.step} to {self._num_steps} in a fleet of {len(start.runs)} on "
                f"{images.device}"
            )
        now = environment(images.device, Inductor(options.deterministic))
        changes = {run.name: RunWriter(run).record_environment(start.step, now) for run in start.runs}
        if moved := [(name, change) for name, change in changes.items() if change]:
            log.warning(
                "%s%s from step %d in another environment (%s), so the last bits of weights may differ from "
                "uninterrupted training.",
                moved[0][0],
                f" and {len(moved) - 1} others resume" if len(moved) > 1 else " resumes",
                start.step,
                moved[0][1],
            )
        if images.device.type == "cuda":
            emit(Event("compiling", 0, 1, runs=tuple(self._names)))
            seconds = self._fleet.prepare()
            text = f"Compiled in {duration(seconds)}." if seconds > 0 else "Compiled before."
            emit(Event("compiling", 1, 1, text=text, runs=tuple(self._names)))
        columns = extra_columns(self._fleet, images, options)
        self._reporter = Reporter(
            start.runs, self._fleet, steps_later=steps_later, histories=start.histories(), columns=columns
        )
        self._times = CheckpointTimes(options.checkpoint_every, self._fleet.num_bytes)
        self._saved_at = start.step
        self._recorded = [recorded_options(run.folder) for run in start.runs]
        self._check_snapshots()

    def run(self) -> bool:
        """Trains to the end and finishes the runs.

        Returns whether a stop was requested too late to stop these runs.
        """
        with interruptible() as interrupt:
            self._train(interrupt)
            self._finish(interrupt)
        return interrupt.requested

    def _train(self, interrupt: Interrupt) -> None:
        fleet = self._fleet
        while fleet.step < self._num_steps and bool(self._reporter.alive.any()):
            losses = fleet.advance(log=self._reporter.needs_losses)
            for index in self._reporter.after_step(losses):
                state = fleet.state(index)
                save_last_good(self._runs[index], state)
                log.warning(
                    "%s: %s at step %s. Its last finite weights are saved, and the other runs continue.",
                    self._names[index],
                    self._failure_text(state),
                    state.failed_at,
                )
            self._save_snapshots()  # before the checkpoint, because a resumed run does not repeat earlier steps
            is_last = fleet.step == self._num_steps or not bool(self._reporter.alive.any())
            if self._times.is_due(fleet.step, is_last=is_last):
                self._checkpoint()
            if interrupt.requested:
                self._stop()

    def _check_snapshots(self) -> None:
        """Logs a warning about requested snapshots of steps before the start step that do not exist."""
        step = self._fleet.step
        missed = [
            (snapshot, run.name)
            for run, recorded in zip(self._runs, self._recorded, strict=True)
            for snapshot in recorded.snapshots
            if snapshot <= step and snapshot not in run.snapshots
        ]
        if missed:
            log.warning(
                "The snapshot of step %d cannot be saved, because %s resumes from step %d. To save it, train the run "
                "again (--force, or TrainingOptions(force=True)).",
                *missed[0],
                step,
            )

    def _save_snapshots(self) -> None:
        """Saves the requested snapshots of this step, except for failed members."""
        step = self._fleet.step
        chosen = [index for index, recorded in enumerate(self._recorded) if step in recorded.snapshots]
        if chosen:
            alive = self._fleet.alive.tolist()
            with writers() as pool:
                saved = [index for index in chosen if alive[index]]
                list(pool.map(lambda index: save_snapshot(self._runs[index], self._fleet.state(index)), saved))

    def _finish(self, interrupt: Interrupt) -> None:
        """Writes the results of all members, then marks all members as finished or failed.

        If the process dies, either all members of the fleet resume together, or no member. A member that resumes
        without the other members would differ in its last bits.
        """
        for history, run in zip(self._reporter.histories, self._runs, strict=True):
            RunWriter(run).write_history(history)
        failed = [index for index in range(len(self._runs)) if self._fleet.failed_at(index) is not None]
        remaining = [index for index in range(len(self._runs)) if index not in failed]
        errors: dict[int, CodesError] = {}
        names, num_all = tuple(self._names[index] for index in remaining), len(remaining)
        at_once = _ENCODED_AT_ONCE.get(self._images.device.type, 4)
        while members := remaining[:at_once]:
            emit(Event("encoding images", num_all - len(remaining), num_all, "models", runs=names))
            if interrupt.requested:
                self._stop()
            for index in members:
                if self._recorded[index].keep_state:  # before the record that ends the run
                    history = self._reporter.histories[index]
                    save_state(self._runs[index], self._fleet.state(index), self._names, history)
            outcomes = keep(self._fleet, members, self._runs, self._images, time.monotonic() - self._began)
            errors |= {index: error for index, error in zip(members, outcomes, strict=True) if error is not None}
            remaining = remaining[at_once:]
        if names:
            emit(Event("encoding images", num_all, num_all, "models", runs=names))
        for index in failed:
            run, state = self._runs[index], self._fleet.state(index)
            step, last_good = state.failed_at or 0, save_last_good(run, state)
            RunWriter(run).keep_failure(step, self._failure_text(state), last_good, self._names)
        for index, error in errors.items():
            log.warning("%s: the trained model cannot encode the images. %s", self._names[index], error)
            reason = f"the trained model cannot encode the images ({error})"
            RunWriter(self._runs[index]).keep_failure(self._fleet.step, reason, None, self._names)
        for run in self._runs:
            conclude(run)

    def _stop(self) -> None:
        """Saves a checkpoint, unless this step already has one, and raises TrainingInterrupted."""
        if self._saved_at < self._fleet.step:
            self._checkpoint()
        raise TrainingInterrupted(
            f"Stopped by a signal at step {self._fleet.step} of {self._num_steps} with a checkpoint. {HOW_TO_RESUME}"
        )

    def _checkpoint(self) -> None:
        """Saves the history of every member, then a checkpoint of every member.

        A resumed run drops history rows after the checkpoint, but cannot recompute missing rows before the checkpoint.
        """
        bool(self._fleet.alive.any())  # waits for the GPU, so that queued steps do not count as time of the checkpoint

        def save(index: int) -> None:
            history = self._reporter.histories[index]
            RunWriter(self._runs[index]).write_history(history)
            save_checkpoint(self._runs[index], self._fleet.state(index), self._names, history)

        with self._times.saving(), writers() as pool:
            list(pool.map(save, range(len(self._runs))))
        self._saved_at = self._fleet.step

    def _failure_text(self, state: MemberState) -> str:
        match state.reason:
            case "loss not finite":
                return "the loss was not finite"
            case "gradient not finite":
                return "the gradient was not finite"
            case _:
                return f"the loss was above max_loss ({self._runs[0].spec.max_loss:g})"


def keep(
    fleet: Fleet, members: Sequence[int], runs: Sequence[Run], images: FactorImages, seconds: float
) -> list[CodesError | None]:
    """Encodes all images with these members of a fleet, and writes codes and weights to the folders of `runs`.

    Returns one entry per member: the error of a member that cannot encode the images, or None.
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


def environment(device: torch.device, compiler: Inductor) -> dict[str, Any]:
    """Returns properties of the environment that may change the last bits of the trained weights."""
    is_gpu = device.type == "cuda"
    return {
        "unbraid": __version__,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if is_gpu else device.type.upper(),
        "threads": None if is_gpu else torch.get_num_threads(),
        "compiler": compiler.settings if is_gpu else None,
    }


def conclude(run: Run) -> None:
    """Marks a run with complete files as finished or failed, and removes its checkpoints."""
    writer = RunWriter(run)
    writer.conclude()
    failure = run.failure
    writer.log("finished" if failure is None else f"failed at step {failure.step}: {failure.reason}")
    remove_checkpoints(run)


def writers() -> ThreadPoolExecutor:
    """Returns a thread pool for writing files: one thread computes a checksum while another waits for the disk.

    Reading a result raises the exception of its task.
    """
    one_at_a_time = threading.Lock()

    def wake() -> None:
        # The first use of torch in a thread starts more threads. In a forked process, this is not safe in two threads
        # at the same time.
        with one_at_a_time:
            torch.get_num_threads()

    return ThreadPoolExecutor(_NUM_WRITERS, thread_name_prefix="unbraid-write", initializer=wake)


def _encoded(
    models: Sequence[AutoencoderModule], images: FactorImages, precision: Precision
) -> list[Codes | CodesError]:
    """Encodes the images with each model. Returns codes, or the error of a model that cannot encode the images."""
    try:
        return list(encode_all(models, images, precision=precision))
    except CodesError as error:
        if len(models) == 1:
            return [error]
        return [outcome for model in models for outcome in _encoded([model], images, precision)]
