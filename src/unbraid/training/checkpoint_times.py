"""When a fleet is checkpointed."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import final

from unbraid.errors import SpecError

_LEAST_SECONDS = 60.0
# The time between two checkpoints over the time that one takes: less than 2 % of a long training goes into them.
_SECONDS_PER_SECOND = 50.0


@final
class CheckpointTimes:
    """After every so many steps, or by the clock: after a minute, then whenever fifty times as long has passed as the last checkpoint took.

    The clock must be one that nobody can set.
    """

    def __init__(self, every: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        if every is not None and every < 1:
            raise SpecError(f"checkpoint_every is {every}; expected 1 step or more, or None: then the clock decides.")
        self._every = every
        self._clock = clock
        self._last = clock()
        self._pause = _LEAST_SECONDS

    def is_due(self, step: int, *, is_last: bool = False) -> bool:
        """At this step. After the last one the clock decides as ever: what is lost if the end of a run goes wrong is no more than in its midst."""
        if self._every is not None:
            return step % self._every == 0 or is_last
        return self._clock() - self._last >= self._pause

    @contextlib.contextmanager
    def saving(self) -> Iterator[None]:
        """Within the block a checkpoint is saved."""
        began = self._clock()
        yield
        self._last = self._clock()
        self._pause = max(_LEAST_SECONDS, _SECONDS_PER_SECOND * (self._last - began))
