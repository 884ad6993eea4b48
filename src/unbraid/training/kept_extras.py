"""Snapshots of weights, and the state of the last step."""

import logging
from collections.abc import Sequence
from typing import final

from unbraid.training.checkpoint import save_snapshot, save_state
from unbraid.training.fleet import Fleet
from unbraid.training.runs.extras import Extras, read_extras
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.writers import writers

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
