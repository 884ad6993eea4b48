"""The history of a fleet, at steps that depend on the step alone, and its progress, by the clock."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from unbraid._internal.progress import Event, emit
from unbraid.training.fleet import Fleet
from unbraid.training.held_out import COLUMN, HeldOut
from unbraid.training.latent_information import LatentInformationOfBatches
from unbraid.training.plan import others
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run

_ROWS_OF_HISTORY = 500
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_WORDS = 10.0


@final
@dataclass(frozen=True)
class Later:
    """Holds what comes after a fleet: steps of others of its plan, for each member, and models of no plan yet."""

    member_steps: int = 0
    num_of_other_kinds: int = 0


@final
class Reporter:
    """Keeps the history of a fleet, and emits its progress.

    A GPU is given steps to take long before it takes them. It is waited for whenever a row of the history is due, and
    about twice a second: so that a member that failed, or a request to stop, is seen to soon.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        fleet: Fleet,
        num_steps: int,
        later: Later,
        clock: Callable[[], float] = time.monotonic,
        histories: Sequence[History] = (),
        held_out: HeldOut | None = None,
        of_latents: LatentInformationOfBatches | None = None,
    ) -> None:
        self.histories = list(histories) or [History() for _ in runs]
        self.alive = fleet.alive.cpu()
        self._runs, self._fleet, self._num_steps, self._later = runs, fleet, num_steps, later
        self._names, self._clock = tuple(run.name for run in runs), clock
        self._losses: dict[str, list[float]] = {}
        self._held_out, self._of_latents = held_out, of_latents
        # The first step makes ready what all others use, so the clock starts after it.
        self._first_step = self._next_look = fleet.step + 1
        self._began = self._last_word = clock()

    @property
    def wants_losses(self) -> bool:
        """Returns whether the loss at the next step is to be written down or told."""
        return (
            is_row(self._fleet.step + 1, self._num_steps) or self._clock() - self._last_word >= _SECONDS_BETWEEN_WORDS
        )

    def after_step(self, losses: dict[str, Tensor]) -> list[int]:
        """Updates the history and the progress after a step, with the losses if they were wanted.

        Returns the members that have failed since.
        """
        if not losses and self._fleet.step < self._next_look:
            return []
        alive = self._fleet.alive.cpu()
        failed = torch.nonzero(self.alive & ~alive).flatten().tolist()
        self.alive = alive
        if losses:
            self._take(losses)
        now = self._clock()
        if self._fleet.step == self._first_step:
            self._began = now
        speed = self._steps_per_second(now)
        self._next_look = self._fleet.step + max(1, int(speed * _SECONDS_BETWEEN_LOOKS))
        if losses or now - self._last_word >= _SECONDS_BETWEEN_WORDS:
            self._last_word = now
            left = (
                (self._num_steps - self._fleet.step + self._later.member_steps / len(self._runs)) / speed
                if speed > 0
                else math.inf
            )
            num_later = self._later.num_of_other_kinds
            emit(
                Event(
                    "training",
                    self._fleet.step,
                    self._num_steps,
                    "steps",
                    f"then {others(num_later)}" if num_later else "",
                    runs=self._names,
                    values=self._losses,
                    per_second=speed,
                    seconds_left=left,
                )
            )
        return failed

    def _is_due(self, every: int) -> bool:
        """Returns whether this row is the first since a multiple of so many steps, or the last.

        Rows stay where they are: those of other runs are compared with them.
        """
        step = self._fleet.step
        return step == self._num_steps or step // every > max(0, step - _rows_apart(self._num_steps)) // every

    def _take(self, losses: dict[str, Tensor]) -> None:
        """Writes down the losses of the step just taken, if they belong in the history.

        Those of members that have failed mean nothing.
        """
        by_name = {name: values.tolist() for name, values in losses.items()}
        self._losses = {
            name: [value if alive else math.nan for value, alive in zip(values, self.alive.tolist(), strict=True)]
            for name, values in by_name.items()
        }
        if not is_row(self._fleet.step, self._num_steps):
            return
        if self._held_out is not None:
            alive = self.alive.tolist()
            due = self._is_due(self._held_out.every)
            by_name[COLUMN] = self._held_out.elbos(self._fleet, alive) if due else [math.nan] * len(alive)
        if self._of_latents is not None:
            by_name |= self._information(self._of_latents)
        for index, history in enumerate(self.histories):
            if self.alive[index]:
                history.append(self._fleet.step, {name: values[index] for name, values in by_name.items()})

    def _information(self, latents: LatentInformationOfBatches) -> dict[str, list[float]]:
        """Returns the information of each latent, by the names of their columns; NaN where this row has none."""
        alive = self.alive.tolist()
        if not self._is_due(latents.every):
            return {name: [math.nan] * len(alive) for name in latents.columns}
        found = zip(*latents.of(self._fleet, alive), strict=True)
        return {name: list(values) for name, values in zip(latents.columns, found, strict=True)}

    def _steps_per_second(self, now: float) -> float:
        """Returns the average since the first step; 0 until there is one."""
        steps = self._fleet.step - self._first_step
        return steps / (now - self._began) if steps > 0 and now > self._began else 0.0


def is_row(step: int, num_steps: int) -> bool:
    """Returns whether the loss at this step belongs in the history of a run of so many steps."""
    return step == 1 or step % _rows_apart(num_steps) == 0 or step == num_steps


def _rows_apart(num_steps: int) -> int:
    return max(1, num_steps // _ROWS_OF_HISTORY)
