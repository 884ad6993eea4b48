"""When a fleet is checkpointed."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import final

_LEAST_SECONDS = 60.0
# The time between two checkpoints over the time that one takes: less than 2 % of a long training goes into them.
_SECONDS_PER_SECOND = 50.0
# What the first checkpoint is taken to cost, until it has been timed: a disk of middling speed.
_BYTES_PER_SECOND = 5e8


@final
class CheckpointTimes:
    """Decides when a checkpoint is due: after every so many steps, or by the clock.

    By the clock it is due after a minute, or whenever fifty times as long has passed as the last checkpoint took.

    `num_bytes` is how large one is, from which the cost of the first is guessed. The clock must be one that cannot be
    set.
    """

    def __init__(self, every: int | None, num_bytes: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self._every = every
        self._clock = clock
        self._last = clock()
        self._pause = _pause_after(num_bytes / _BYTES_PER_SECOND)

    def is_due(self, step: int, *, is_last: bool = False) -> bool:
        """Returns whether a checkpoint is due at this step.

        After the last one the clock decides as ever: what is lost if the end of a run goes wrong is no more than in its
        midst.
        """
        if self._every is not None:
            return step % self._every == 0 or is_last
        return self._clock() - self._last >= self._pause

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Times the block, in which a checkpoint is saved."""
        began = self._clock()
        yield
        self._last = self._clock()
        self._pause = _pause_after(self._last - began)


def _pause_after(cost: float) -> float:
    return max(_LEAST_SECONDS, _SECONDS_PER_SECOND * cost)
