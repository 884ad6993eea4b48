"""History of a fleet, with rows at fixed steps, and progress events of a fleet."""

import math
import time
from collections.abc import Callable, Sequence
from typing import final

import torch
from torch import Tensor

from unbraid._internal.amounts import size_text
from unbraid._internal.progress import Event, emit
from unbraid.training.fleet import Fleet
from unbraid.training.history_columns import ExtraColumns
from unbraid.training.runs.history import History
from unbraid.training.runs.run import Run
from unbraid.training.sizing import Memory

_ROWS_OF_HISTORY = 500
_SECONDS_BETWEEN_CHECKS = 0.5
_SECONDS_BETWEEN_EVENTS = 10.0


@final
class Reporter:
    """Recorder of the history of a fleet, and source of progress events.

    The host queues steps long before a GPU runs these steps. The host waits for the GPU at each row of the history, and
    about twice per second, to detect failed members and stop requests. `steps_later` is the total number of steps of
    all members of later fleets, which the remaining time includes.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        fleet: Fleet,
        *,
        steps_later: int = 0,
        histories: Sequence[History] = (),
        columns: Sequence[ExtraColumns] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.histories = list(histories) or [History() for _ in runs]
        self.alive = fleet.alive.cpu()
        self._fleet, self._steps_later, self._columns, self._clock = fleet, steps_later, columns, clock
        self._names, self._num_steps = tuple(run.name for run in runs), runs[0].spec.num_steps
        self._losses: dict[str, list[float]] = {}
        # The first step includes the setup, so the clock starts after the first step.
        self._first_step = self._next_check = fleet.step + 1
        self._began = self._last_event = clock()

    @property
    def needs_losses(self) -> bool:
        """Whether the loss at the next step is needed for the history or for a progress event."""
        is_due = self._clock() - self._last_event >= _SECONDS_BETWEEN_EVENTS
        return is_row(self._fleet.step + 1, self._num_steps) or is_due

    def after_step(self, losses: dict[str, Tensor]) -> list[int]:
        """Updates the history and the progress after a step. `losses` may be empty if `needs_losses` was False.

        Returns the indices of the members that failed since the last check.
        """
        step = self._fleet.step
        if not losses and step < self._next_check:
            return []
        alive = self._fleet.alive.cpu()
        failed = torch.nonzero(self.alive & ~alive).flatten().tolist()
        self.alive = alive
        if losses:
            self._record({name: values.tolist() for name, values in losses.items()})
        now = self._clock()
        if step == self._first_step:
            self._began = now
        taken = step - self._first_step
        speed = taken / (now - self._began) if taken > 0 and now > self._began else 0.0
        self._next_check = step + max(1, int(speed * _SECONDS_BETWEEN_CHECKS))
        if losses or now - self._last_event >= _SECONDS_BETWEEN_EVENTS:
            self._last_event = now
            steps_left = self._num_steps - step + self._steps_later / len(self._names)
            progress = Event(
                "training",
                step,
                self._num_steps,
                "steps",
                runs=self._names,
                values=self._losses,
                per_second=speed,
                seconds_left=steps_left / speed if speed > 0 else math.inf,
            )
            emit(progress)
        return failed

    def _record(self, losses: dict[str, list[float]]) -> None:
        """Stores the losses of this step for events. Adds a row to the history of each member if a row is due."""
        step, alive = self._fleet.step, self.alive.tolist()
        self._losses = {
            name: [value if is_alive else math.nan for value, is_alive in zip(values, alive, strict=True)]
            for name, values in losses.items()
        }
        if not is_row(step, self._num_steps):
            return
        previous = max(0, step - _steps_between_rows(self._num_steps))
        for columns in self._columns:
            # Values are in the last row, and in the first row after a multiple of `every` steps. No rows are added for
            # these values, so that runs have comparable rows.
            is_due = step == self._num_steps or step // columns.every > previous // columns.every
            losses = losses | columns.values(alive, is_due=is_due)
        for index, history in enumerate(self.histories):
            if alive[index]:
                history.append(step, {name: values[index] for name, values in losses.items()})


def is_row(step: int, num_steps: int) -> bool:
    """Returns whether the history of a run with `num_steps` steps has a row for this step."""
    return step == 1 or step % _steps_between_rows(num_steps) == 0 or step == num_steps


def plan_text(sizes: Sequence[int], num_steps: int, device: torch.device, memory: Memory | None) -> str:
    """Describes the training plan: the fleet sizes, the number of steps and, if measured, the memory."""
    count = "1 model" if sum(sizes) == 1 else f"{sum(sizes)} models"
    fleets = "" if len(sizes) == 1 else f" in {len(sizes)} fleets, one after the other ({' + '.join(map(str, sizes))})"
    text = f"{count}{fleets}, {num_steps} steps each, on {device}."
    if memory is not None:
        text += f" A model needs at most {size_text(memory.per_member)}, and {size_text(memory.free)} are free."
    return text


def _steps_between_rows(num_steps: int) -> int:
    return max(1, num_steps // _ROWS_OF_HISTORY)
