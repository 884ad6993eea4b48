"""One fleet, from where it stands to finished runs."""

import logging
import time
from typing import final

from unbraid._internal.amounts import duration
from unbraid._internal.progress import Event, emit
from unbraid.datasets.dataset import FactorImages
from unbraid.errors import CodesError, TrainingInterrupted
from unbraid.training.checkpoint import CheckpointTimes, remove_later, save_checkpoint, save_last_good
from unbraid.training.environment import Environment
from unbraid.training.finish import KeptExtras, conclude, keep, keep_failed, keep_unencodable, writers
from unbraid.training.fleet import Fleet
from unbraid.training.history_columns import extra_columns
from unbraid.training.interrupt import HOW_TO_RESUME, Interrupt, interruptible
from unbraid.training.options import TrainingOptions
from unbraid.training.program import Inductor, Programs
from unbraid.training.reporter import Later, Reporter
from unbraid.training.runs.run_writer import RunWriter
from unbraid.training.runs.spec import RunSpec
from unbraid.training.starts import Start
from unbraid.training.state import Member, Reason

log = logging.getLogger(__name__)

# Images are read once for so many members; between two such groups somebody may stop it.
_ENCODED_AT_ONCE = {"cpu": 4, "cuda": 64}


@final
class FleetTraining:
    """Trains the runs of a start side by side, checkpoints them, and finishes them."""

    def __init__(
        self,
        start: Start,
        images: FactorImages,
        options: TrainingOptions,
        *,
        programs: Programs,
        later: Later,
    ) -> None:
        self._began = time.monotonic()
        self._runs, self._images = start.runs, images
        self._num_steps = start.runs[0].spec.num_steps
        self._fleet = Fleet([Member(run.spec, run.seed) for run in start.runs], images, programs=programs)
        self._fleet.restore(start.states())
        for run in start.runs:
            remove_later(run, start.step)
        for run in start.runs:
            RunWriter(run).log(
                f"training from step {start.step} to {self._num_steps} in a fleet of {len(start.runs)} on "
                f"{images.device}"
            )
        moved = Environment.of(images.device, Inductor(options.deterministic)).record(start.runs, start.step)
        if moved:
            log.warning(moved)
        self._prepare()
        columns = extra_columns(self._fleet, images, options)
        self._reporter = Reporter(start.runs, self._fleet, later, histories=start.histories(), columns=columns)
        self._times = CheckpointTimes(options.checkpoint_every, self._fleet.num_bytes)
        self._saved_at = start.step
        self._extras = KeptExtras(start.runs, self._fleet)

    def run(self) -> bool:
        """Trains to the end and finishes the runs.

        Returns whether a stop was asked for meanwhile, too late to stop these.
        """
        with interruptible() as interrupt:
            self._train(interrupt)
            self._finish(interrupt)
        return interrupt.requested

    def _prepare(self) -> None:
        if self._images.device.type == "cuda":
            names = tuple(run.name for run in self._runs)
            emit(Event("compiling", 0, 1, runs=names))
            seconds = self._fleet.prepare()
            text = f"Compiled in {duration(seconds)}." if seconds > 0 else "It was compiled before."
            emit(Event("compiling", 1, 1, text=text, runs=names))

    def _train(self, interrupt: Interrupt) -> None:
        fleet = self._fleet
        while fleet.step < self._num_steps and bool(self._reporter.alive.any()):
            losses = fleet.advance(log=self._reporter.needs_losses)
            for index in self._reporter.after_step(losses):
                self._keep_last_good(index)
            self._extras.after_step()  # before a checkpoint is, which says that nothing before it is left to do
            is_last = fleet.step == self._num_steps or not bool(self._reporter.alive.any())
            if self._times.is_due(fleet.step, is_last=is_last):
                self._checkpoint()
            if interrupt.requested:
                self._leave()

    def _finish(self, interrupt: Interrupt) -> None:
        """Writes the results of all members, and only then marks each as ended.

        So whenever the process dies, either all of the fleet resume together, or none has to: alone, a member would end
        with other last bits.
        """
        for history, run in zip(self._reporter.histories, self._runs, strict=True):
            RunWriter(run).write_history(history)
        failed = {index for index in range(len(self._runs)) if self._fleet.failed_at(index) is not None}
        remaining = [index for index in range(len(self._runs)) if index not in failed]
        errors: dict[int, CodesError] = {}
        names, num_all = tuple(self._runs[index].name for index in remaining), len(remaining)
        at_once = _ENCODED_AT_ONCE.get(self._images.device.type, 4)
        while members := remaining[:at_once]:
            emit(Event("encoding images", num_all - len(remaining), num_all, "models", runs=names))
            if interrupt.requested:
                self._leave()
            self._extras.keep_states(members, self._reporter.histories)
            outcomes = keep(self._fleet, members, self._runs, self._images, time.monotonic() - self._began)
            errors |= {index: error for index, error in zip(members, outcomes, strict=True) if error is not None}
            remaining = remaining[at_once:]
        if names:
            emit(Event("encoding images", num_all, num_all, "models", runs=names))
        fleet = [run.name for run in self._runs]
        for index in failed:
            state = self._fleet.state(index)
            keep_failed(self._runs[index], state, _failure_text(self._runs[index].spec, state.reason), fleet)
        for index, error in errors.items():
            name = self._runs[index].name
            log.warning("%s: it was trained to the end, but cannot encode the images. %s", name, error)
            keep_unencodable(self._runs[index], self._fleet.step, error, fleet)
        for run in self._runs:
            conclude(run)

    def _leave(self) -> None:
        """Saves a checkpoint, unless this step has one, and stops here, as asked."""
        if self._saved_at < self._fleet.step:
            self._checkpoint()
        raise TrainingInterrupted(
            f"Stopped at step {self._fleet.step} of {self._num_steps}, as asked; a checkpoint is saved. {HOW_TO_RESUME}"
        )

    def _checkpoint(self) -> None:
        """Saves every member, history first.

        Rows beyond a checkpoint are dropped on resuming; rows before it could not be made again.
        """
        bool(
            self._fleet.alive.any()
        )  # waits for the steps that a GPU has yet to take: they are no part of what a checkpoint costs
        fleet = [run.name for run in self._runs]

        def save(index: int) -> None:
            history = self._reporter.histories[index]
            RunWriter(self._runs[index]).write_history(history)
            save_checkpoint(self._runs[index], self._fleet.state(index), fleet, history)

        with self._times.saving(), writers() as pool:
            list(pool.map(save, range(len(self._runs))))
        self._saved_at = self._fleet.step

    def _keep_last_good(self, index: int) -> None:
        """Keeps the last good weights of a failed member: those from before the step at which it failed."""
        run, state = self._runs[index], self._fleet.state(index)
        save_last_good(run, state)
        reason = _failure_text(run.spec, state.reason)
        log.warning(
            "%s: %s at step %s. It is frozen, its last good weights are kept, and the others continue.",
            run.name,
            reason,
            state.failed_at,
        )


def _failure_text(spec: RunSpec, reason: Reason | None) -> str:
    match reason:
        case "loss not finite":
            return "its loss was not finite"
        case "gradient not finite":
            return "its gradient was not finite"
        case _:
            return f"its loss was above max_loss ({spec.max_loss:g})"
