"""The driver of a study on many workers, which submits fleets, collects results, and resubmits lost fleets.

Any class with the methods of `Workers` can be used: processes of this machine, a Ray cluster, or a simulation of 64
failing nodes.
"""

import itertools
import logging
import os
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, final

import torch

from unbraid._internal.device import resolve_device
from unbraid._internal.progress import Event, emit
from unbraid._internal.worker_pool import Ended, Json, WorkerPool
from unbraid.errors import RunError

log = logging.getLogger(__name__)


class Workers(Protocol):
    """Interface of `WorkerPool`. An order starts when a worker is free, if possible not on a node in `avoid`."""

    def submit(self, ticket: Hashable, order: Json, avoid: Collection[str]) -> None: ...
    def wait(self, seconds: float) -> Iterable[Ended]: ...
    def cancel(self, ticket: Hashable) -> None: ...
    def seconds_silent(self) -> Mapping[Hashable, float]: ...
    def close(self) -> None: ...


def num_workers(count: int | None, device: torch.device | str) -> int:
    """Returns the number of fleets trained in parallel on this machine, by default one per GPU."""
    if count is not None:
        return count
    is_one = resolve_device(device).type != "cuda" or ":" in str(device)
    return 1 if is_one else torch.cuda.device_count()


def start_processes(count: int, device: str, threads: int) -> tuple[Workers, str]:
    """Starts `count` local processes, each with one GPU or with `threads` CPU threads. Also returns the device type."""
    kind = resolve_device(device).type
    environments = [{"OMP_NUM_THREADS": str(threads)} for _ in range(count)]
    if kind == "cuda":
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        gpus = visible.split(",") if visible else [str(place) for place in range(torch.cuda.device_count())]
        for place, environment in enumerate(environments):
            environment["CUDA_VISIBLE_DEVICES"] = gpus[place % len(gpus)]
    return WorkerPool("unbraid.studies.cluster.fleet_task:train_fleet", environments, grace=_SECONDS_TO_STOP), kind


@final
@dataclass(frozen=True)
class Patience:
    """Limits for lost fleets.

    Attributes:
        losses: The maximum number of losses of a fleet. One more loss is a failure.
        silence: The seconds without a signal after which a fleet counts as lost.
        tick: The seconds between checks.
    """

    losses: int = 10
    silence: float = 900.0
    tick: float = 1.0


_SECONDS_TO_STOP = 60.0  # for a process to end its step and to write a checkpoint


@final
@dataclass
class FleetTask:
    """A fleet to train: its order, its number of losses, and the nodes to avoid."""

    key: str
    order: Json
    losses: int = 0
    avoid: list[str] = field(default_factory=list)


Take = Callable[[FleetTask, Mapping[str, Any], Iterable[bytes]], None]


@final
class Driver:
    """Runs fleets on workers until each has finished or failed. Calls `take` once with each answer."""

    def __init__(
        self,
        workers: Workers,
        take: Take,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
        name: str = "study",
    ) -> None:
        self._workers, self._take, self._patience, self._clock, self._name = workers, take, patience, clock, name
        self._tickets = itertools.count()
        self._under_way: dict[Hashable, FleetTask] = {}
        self._heard_at = clock()
        self.failures: dict[str, str] = {}

    def run(self, tasks: Iterable[FleetTask]) -> None:
        """Submits all fleets at once. Returns when every fleet has finished or failed."""
        for task in tasks:
            self._submit(task)
        total = len(self._under_way)
        while self._under_way:
            for ended in self._workers.wait(self._patience.tick):
                self._heard_at = self._clock()
                if ended.ticket in self._under_way:  # otherwise it was taken for lost and submitted again
                    self._end(self._under_way.pop(ended.ticket), ended)
            self._watch()
            emit(Event(self._name, total - len(self._under_way), total, "fleets"))

    def _submit(self, task: FleetTask) -> None:
        ticket = next(self._tickets)
        self._under_way[ticket] = task
        self._workers.submit(ticket, dict(task.order), tuple(task.avoid))

    def _end(self, task: FleetTask, ended: Ended) -> None:
        answer = ended.answer
        if ended.how == "raised" or "refused" in answer:
            self.failures[task.key] = answer.get("refused", ended.reason)
        elif ended.how == "lost" or "stopped" in answer:
            self._lost(task, answer.get("stopped", ended.reason), ended.node)
        elif ended.how == "out of memory":
            self._halve(task, ended)
        else:
            try:
                self._take(task, answer, ended.parcels)
            except RunError as error:
                self._lost(task, str(error), ended.node)

    def _lost(self, task: FleetTask, reason: str, node: str = "") -> None:
        """Resubmits a lost fleet, if possible to another node. Records a failure after too many losses."""
        task.losses += 1
        if node and node not in task.avoid:
            task.avoid.append(node)
        if task.losses > self._patience.losses:
            self.failures[task.key] = f"it was lost {task.losses} times, the last time because {reason}"
            return
        log.warning("A fleet of %d (%s) was lost and is started again: %s", len(task.order["runs"]), task.key, reason)
        self._submit(task)

    def _halve(self, task: FleetTask, ended: Ended) -> None:
        """Resubmits a fleet with half as many models side by side, after memory ran out."""
        size = task.order["side_by_side"]
        if size == 1:
            self._lost(task, f"memory ran out for one model alone ({ended.reason})", ended.node)
            return
        task.order["side_by_side"] = half = (size + 1) // 2
        log.warning("Memory ran out for %d models side by side (%s). Continuing with %d.", size, task.key, half)
        self._submit(task)

    def _watch(self) -> None:
        """Marks silent fleets as lost. If no worker has signaled for too long, marks all fleets as lost."""
        silent_for = self._workers.seconds_silent()
        if silent_for:
            self._heard_at = max(self._heard_at, self._clock() - min(silent_for.values()))
        silent = [ticket for ticket, seconds in silent_for.items() if seconds > self._patience.silence]
        if self._clock() - self._heard_at > self._patience.silence:
            silent = list(self._under_way)
            self._heard_at = self._clock()
        for ticket in silent:
            if ticket in self._under_way:
                task = self._under_way.pop(ticket)
                self._workers.cancel(ticket)
                self._lost(task, f"it signaled no progress for {self._patience.silence:g} s")
