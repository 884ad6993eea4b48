"""The driver of a study on several workers: submits fleets, collects results, and resubmits lost fleets.

The workers are any class with the methods of `Workers`: processes of this machine, a Ray cluster, or a simulation.
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
    """Interface of workers, such as `WorkerPool`. If possible, a task does not run on a node in `avoid`."""

    def submit(self, task_id: Hashable, request: Json, avoid: Collection[str]) -> None: ...
    def wait(self, seconds: float) -> Iterable[Ended]: ...
    def cancel(self, task_id: Hashable) -> None: ...
    def seconds_silent(self) -> Mapping[Hashable, float]: ...
    def close(self) -> None: ...


def num_workers(count: int | None, device: torch.device | str) -> int:
    """Returns the number of local worker processes: `count` or, if it is None, one per GPU."""
    if count is not None:
        return count
    is_one = resolve_device(device).type != "cuda" or ":" in str(device)
    return 1 if is_one else torch.cuda.device_count()


def start_processes(count: int, device: str, threads: int) -> tuple[Workers, str]:
    """Starts `count` local processes, each with one GPU or `threads` CPU threads. Returns them and the device type."""
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
    """Retry limits and timeouts of fleets on workers.

    Attributes:
        losses: The maximum number of times that a lost fleet is resubmitted. The next loss is a failure.
        silence: The seconds without a heartbeat after which a fleet counts as lost.
        tick: The seconds between checks.
    """

    losses: int = 10
    silence: float = 900.0
    tick: float = 1.0


_SECONDS_TO_STOP = 60.0  # in which a process finishes its step and writes a checkpoint


@final
@dataclass
class FleetTask:
    """A fleet to train: the request for a worker, the number of times it was lost, and the nodes to avoid."""

    key: str
    request: Json
    losses: int = 0
    avoid: list[str] = field(default_factory=list)


OnResult = Callable[[FleetTask, Mapping[str, Any], Iterable[bytes]], None]


@final
class Driver:
    """Driver that submits fleets to workers until every fleet has finished or failed.

    Calls `on_result` with the result of each finished fleet. `failures` has the reason of each failed fleet.
    """

    def __init__(
        self,
        workers: Workers,
        on_result: OnResult,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
        name: str = "study",
    ) -> None:
        self._workers, self._on_result, self._patience = workers, on_result, patience
        self._clock, self._name = clock, name
        self._task_ids = itertools.count()
        self._running: dict[Hashable, FleetTask] = {}
        self._last_signal = clock()
        self.failures: dict[str, str] = {}

    def run(self, tasks: Iterable[FleetTask]) -> None:
        """Submits all fleets, and returns when every fleet has finished or failed."""
        for task in tasks:
            self._submit(task)
        total = len(self._running)
        while self._running:
            for ended in self._workers.wait(self._patience.tick):
                self._last_signal = self._clock()
                if ended.task_id in self._running:  # otherwise the task counted as lost and was resubmitted
                    self._handle(self._running.pop(ended.task_id), ended)
            self._check_signals()
            emit(Event(self._name, total - len(self._running), total, "fleets"))

    def _submit(self, task: FleetTask) -> None:
        task_id = next(self._task_ids)
        self._running[task_id] = task
        self._workers.submit(task_id, dict(task.request), tuple(task.avoid))

    def _handle(self, task: FleetTask, ended: Ended) -> None:
        answer = ended.answer
        if ended.how == "raised" or "refused" in answer:
            self.failures[task.key] = answer.get("refused", ended.reason)
        elif ended.how == "lost" or "stopped" in answer:
            self._resubmit(task, answer.get("stopped", ended.reason), ended.node)
        elif ended.how == "out of memory":
            self._halve(task, ended)
        else:
            try:
                self._on_result(task, answer, ended.bundles)
            except RunError as error:
                self._resubmit(task, str(error), ended.node)

    def _resubmit(self, task: FleetTask, reason: str, node: str = "") -> None:
        """Resubmits a lost fleet, if possible to another node. Records a failure if it was lost too often."""
        task.losses += 1
        if node and node not in task.avoid:
            task.avoid.append(node)
        if task.losses > self._patience.losses:
            self.failures[task.key] = f"the fleet was lost {task.losses} times; last reason: {reason}"
            return
        log.warning("A fleet of %d (%s) was lost and is resubmitted: %s", len(task.request["runs"]), task.key, reason)
        self._submit(task)

    def _halve(self, task: FleetTask, ended: Ended) -> None:
        """Resubmits a fleet that ran out of memory, with half as many models side by side."""
        size = task.request["side_by_side"]
        if size == 1:
            self._resubmit(task, f"a single model ran out of memory ({ended.reason})", ended.node)
            return
        task.request["side_by_side"] = half = (size + 1) // 2
        log.warning("Memory ran out for %d models side by side (%s). Continuing with %d.", size, task.key, half)
        self._submit(task)

    def _check_signals(self) -> None:
        """Resubmits fleets without a recent heartbeat. If no worker has sent a heartbeat, resubmits all fleets."""
        silent_for = self._workers.seconds_silent()
        if silent_for:
            self._last_signal = max(self._last_signal, self._clock() - min(silent_for.values()))
        silent = [task_id for task_id, seconds in silent_for.items() if seconds > self._patience.silence]
        if self._clock() - self._last_signal > self._patience.silence:
            silent = list(self._running)
            self._last_signal = self._clock()
        for task_id in silent:
            if task_id in self._running:
                task = self._running.pop(task_id)
                self._workers.cancel(task_id)
                self._resubmit(task, f"no heartbeat for {self._patience.silence:g} s")
