"""The driver of a study on many workers: it hands out fleets, takes what comes back, and hands out again what is lost.

It knows no Ray: workers are what answers to `Workers`, so that a simulation of 64 nodes that die drives the very same
code.
"""

import heapq
import itertools
import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, final

from unbraid.errors import RunError
from unbraid.events import Event, tell

log = logging.getLogger(__name__)

How = Literal["answered", "lost", "out of memory", "raised"]


class LostError(Exception):
    """Says that what a worker made is gone, with its node."""


@final
class Ended(NamedTuple):
    """How a piece of work ended: with an answer, by a node or process that died, by memory that ran out, or by an error
    of the code itself. `text` is the answer or the reason; `node` is where it was, if known.
    """

    ticket: int
    how: How
    text: str
    parcels: Iterable[bytes] = ()
    node: str = ""


class Workers(Protocol):
    """What does the work: processes of this machine, nodes of a cluster, or a simulation of them."""

    def submit(self, ticket: int, order: str, num_parcels: int, avoid: Collection[str]) -> None:
        """Takes an order; it is begun when there is room, if possible on none of the nodes to avoid."""

    def wait(self, seconds: float) -> Iterable[Ended]:
        """Returns what has ended, as soon as anything has, or nothing after so many seconds."""

    def cancel(self, ticket: int) -> None:
        """Ends a piece of work, of which nothing is heard any more."""

    def signs(self) -> Mapping[int, float]:
        """Returns, for each ticket that is begun, how many seconds ago it last gave a sign of life."""


@final
@dataclass(frozen=True)
class Patience:
    """How long and how often the driver waits. A fleet that was lost `losses` times is given up; one that has been
    silent for `silence` seconds is lost; one whose runs another process holds is asked for again every `in_use`
    seconds, `times_in_use` times.
    """

    losses: int = 10
    silence: float = 900.0
    in_use: float = 5.0
    times_in_use: int = 120
    tick: float = 1.0


_DEFAULT = Patience()


@final
@dataclass
class FleetTask:
    """A fleet that is to be trained: its order, which says how many models are trained side by side, and its story."""

    key: str
    order: dict[str, Any]
    losses: int = 0
    times_in_use: int = 0
    avoid: list[str] = field(default_factory=list)

    @property
    def num_runs(self) -> int:
        return len(self.order["runs"])


Take = Callable[[FleetTask, Mapping[str, Any], Iterable[bytes]], None]


@final
class Driver:
    """Drives fleets to their ends. `take` is given each answer once."""

    def __init__(
        self,
        workers: Workers,
        take: Take,
        patience: Patience = _DEFAULT,
        clock: Callable[[], float] = time.monotonic,
        name: str = "study",
    ) -> None:
        self._workers, self._take, self._patience, self._clock, self._name = workers, take, patience, clock, name
        self._tickets = itertools.count()
        self._under_way: dict[int, FleetTask] = {}
        self._later: list[tuple[float, int, FleetTask]] = []
        self._heard_at = clock()
        self.failures: dict[str, str] = {}

    def run(self, tasks: Iterable[FleetTask]) -> None:
        """Hands out all fleets at once, and returns when each is taken or has failed."""
        for task in tasks:
            self._submit(task)
        total = len(self._under_way)
        while self._under_way or self._later:
            for ended in self._workers.wait(self._patience.tick):
                self._heard_at = self._clock()
                if ended.ticket in self._under_way:  # else it was taken for lost, and has been handed out again
                    self._end(self._under_way.pop(ended.ticket), ended)
            self._submit_later_ones()
            self._watch()
            tell(Event(self._name, total - len(self._under_way) - len(self._later), total, "fleets"))

    def cancel(self) -> None:
        """Ends all that is under way."""
        for ticket in self._under_way:
            self._workers.cancel(ticket)
        self._under_way.clear()

    def _submit(self, task: FleetTask) -> None:
        ticket = next(self._tickets)
        self._under_way[ticket] = task
        self._workers.submit(ticket, json.dumps(task.order), task.num_runs, tuple(task.avoid))

    def _submit_later_ones(self) -> None:
        while self._later and self._later[0][0] <= self._clock():
            self._submit(heapq.heappop(self._later)[2])

    def _end(self, task: FleetTask, ended: Ended) -> None:
        match ended.how:
            case "answered":
                self._answered(task, json.loads(ended.text), ended)
            case "lost":
                self._lost(task, ended.text, ended.node)
            case "out of memory":
                self._halve(task, ended)
            case "raised":
                self.failures[task.key] = ended.text

    def _answered(self, task: FleetTask, answer: Mapping[str, Any], ended: Ended) -> None:
        if "refused" in answer:
            self.failures[task.key] = answer["refused"]
        elif "stopped" in answer:
            self._lost(task, answer["stopped"], ended.node)
        elif "in_use" in answer:
            self._in_use(task, answer["in_use"])
        else:
            try:
                self._take(task, answer, ended.parcels)
            except (LostError, RunError) as error:
                self._lost(task, str(error), ended.node)

    def _in_use(self, task: FleetTask, reason: str) -> None:
        task.times_in_use += 1
        if task.times_in_use > self._patience.times_in_use:
            self.failures[task.key] = reason
            return
        heapq.heappush(self._later, (self._clock() + self._patience.in_use, next(self._tickets), task))

    def _lost(self, task: FleetTask, reason: str, node: str = "") -> None:
        """Hands a fleet out again, elsewhere if possible, unless it was lost too often."""
        task.losses += 1
        if node and node not in task.avoid:
            task.avoid.append(node)
        if task.losses > self._patience.losses:
            self.failures[task.key] = f"it was lost {task.losses} times, the last time because {reason}"
            return
        log.warning("A fleet of %d (%s) was lost and is begun again: %s", task.num_runs, task.key, reason)
        self._submit(task)

    def _halve(self, task: FleetTask, ended: Ended) -> None:
        """Hands a fleet out again in halves: another try of the same size would end the same way, for ever."""
        size = task.order["side_by_side"]
        if size == 1:
            self._lost(task, f"memory ran out for one model alone ({ended.text})", ended.node)
            return
        task.order["side_by_side"] = (size + 1) // 2
        log.warning(
            "Memory ran out for %d models side by side (%s). Going on with %d.", size, task.key, (size + 1) // 2
        )
        self._submit(task)

    def _watch(self) -> None:
        """Takes for lost what is silent: a fleet that was begun, or all that were not, if nothing at all is heard."""
        signs = self._workers.signs()
        if signs:
            self._heard_at = max(self._heard_at, self._clock() - min(signs.values()))
        silent = [ticket for ticket, ago in signs.items() if ago > self._patience.silence]
        if self._clock() - self._heard_at > self._patience.silence:
            silent = list(self._under_way)
            self._heard_at = self._clock()
        for ticket in silent:
            if ticket in self._under_way:
                task = self._under_way.pop(ticket)
                self._workers.cancel(ticket)
                self._lost(task, f"nothing was heard of it for {self._patience.silence:g} s")
