"""Says so when training on a CPU is slow because its cores are busy."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import final

import torch

from unbraid._internal import files
from unbraid._internal.cpu import is_waiting_chosen, usable_cores
from unbraid._internal.progress import Event, Listener

log = logging.getLogger(__name__)

ADVICE = (
    "Training is slow because the CPU's cores are busy with other work. Set OMP_WAIT_POLICY=PASSIVE in the environment "
    "before torch is imported (in a notebook, in the first cell: import os; "
    'os.environ["OMP_WAIT_POLICY"] = "PASSIVE"), and its threads sleep while they wait for each other; results stay '
    "the same."
)
_SECONDS_BETWEEN_LOOKS = 20.0
# Of the time, in which the thread that trains could have run and had no core: next to none on a quiet machine.
_SHARE_OF_WAITING = 0.2
# Of what the cores can do, above which it is this process itself that keeps them busy.
_SHARE_OF_OUR_OWN = 0.9
_SCHEDULER_STATISTICS = Path("/proc/thread-self/schedstat")


def _seconds_waited() -> float | None:
    """Returns how long this thread was ready to run while no core was free; None where the system does not say."""
    try:
        return int(files.read_bytes(_SCHEDULER_STATISTICS).split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def noticing_busy_cores(device: torch.device) -> list[Listener]:
    """Returns a listener that looks, at events, at how busy the cores are; none where no variable could help."""
    if device.type != "cpu" or torch.get_num_threads() == 1 or is_waiting_chosen() or _seconds_waited() is None:
        return []
    return [_Noticing()]


@final
class _Noticing:
    """Logs the advice once, when a stretch of training has waited for a core too long."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        waited: Callable[[], float | None] = _seconds_waited,
        computed: Callable[[], float] = time.process_time,
    ) -> None:
        self._clocks, self._is_said = (clock, waited, computed), False
        self._last = self._now()

    def __call__(self, event: Event) -> None:
        now = self._now()
        seconds, waited, computed = (after - before for after, before in zip(now, self._last, strict=True))
        if self._is_said or seconds < _SECONDS_BETWEEN_LOOKS:
            return
        self._last = now
        if waited > _SHARE_OF_WAITING * seconds and computed < _SHARE_OF_OUR_OWN * seconds * usable_cores():
            self._is_said = True
            log.warning(ADVICE)

    def _now(self) -> tuple[float, ...]:
        return tuple(clock() or 0.0 for clock in self._clocks)
