"""What the driver of a study costs on a large cluster, and whether it loses anything, without a cluster.

    python -m benchmarks.study_driver                      10,000 fleets over 64 nodes of 8 GPUs that die at random
    python -m benchmarks.study_driver --small              500 fleets over 8 nodes

Nodes are simulated, with a clock of their own: fleets take random times, nodes die with all that is on them and come
back, tasks go silent, memory runs out. The driver is the one that drives Ray. What it costs itself is in real time.
"""

import heapq
import itertools
import logging
import random
import time
from collections import deque

from benchmarks.evidence import flags
from benchmarks.sheet import Sheet, circumstances_of
from unbraid._internal.worker_pool import Ended
from unbraid.studies.cluster.driver import Driver, FleetTask, Patience

HOUR = 3600.0


class SimulatedNodes:
    """Nodes with so many places each. A fleet takes a random time around half an hour; a node dies about every so many
    hours and is back ten minutes later; one task in a thousand goes silent, one in two hundred runs out of memory.
    """

    def __init__(self, num_nodes, places, hours_between_deaths, seed=0):
        self._random = random.Random(f"simulated nodes {seed}")
        self._between = hours_between_deaths * HOUR
        self._events, self._order = [], itertools.count()
        self._waiting, self._running = deque(), {}
        self._free = {f"node {place}": places for place in range(num_nodes)}
        self._places, self._dead = places, set()
        self.now, self.num_deaths, self.num_begun, self.num_silent, self.num_short = 0.0, 0, 0, 0, 0
        for node in self._free:
            self._at(self._random.expovariate(1 / self._between), "dies", node)

    def clock(self):
        return self.now

    def submit(self, task_id, request, avoid):
        self._waiting.append((task_id, request, set(avoid)))

    def cancel(self, task_id):
        self._waiting = deque(each for each in self._waiting if each[0] != task_id)
        self._leave(task_id)

    def seconds_silent(self):
        return {task_id: self.now - began for task_id, (_, began, is_silent) in self._running.items() if is_silent}

    def wait(self, seconds):
        """Goes on to the next moment at which something ends, or for so long."""
        until = self.now + seconds
        self._begin()
        ended = []
        while not ended and self._events and self._events[0][0] <= until:
            self.now, _, what, about = heapq.heappop(self._events)
            ended += getattr(self, f"_{what}")(about)
            self._begin()
        self.now = self.now if ended else until
        return ended

    def _at(self, when, what, about):
        heapq.heappush(self._events, (when, next(self._order), what, about))

    def _begin(self):
        """Begins what waits, wherever there is room."""
        room = {node for node, count in self._free.items() if count and node not in self._dead}
        while self._waiting and room:
            task_id, request, avoid = self._waiting.popleft()
            node = min(room - avoid or room)
            self._free[node] -= 1
            if not self._free[node]:
                room.discard(node)
            chance = self._random.random()
            is_silent, is_short = chance < 0.001, 0.001 <= chance < 0.006 and request["side_by_side"] > 1
            self.num_begun += 1
            self._running[task_id] = node, self.now, is_silent
            if is_short:
                self._at(self.now + 60, "runs_short", task_id)
            elif not is_silent:
                self._at(self.now + self._random.uniform(0.2, 0.8) * HOUR, "answers", task_id)

    def _leave(self, task_id):
        node, *_ = self._running.pop(task_id, ("", 0.0, False))
        if node:
            self._free[node] += 1
        return node

    def _answers(self, task_id):
        if task_id not in self._running:
            return []
        return [Ended(task_id, "answered", {"runs": {}, "shares_folder": True}, node=self._leave(task_id))]

    def _runs_short(self, task_id):
        self.num_short += task_id in self._running
        return [Ended(task_id, "out of memory", node=self._leave(task_id))] if task_id in self._running else []

    def _dies(self, node):
        self.num_deaths += 1
        self._dead.add(node)
        lost = [task_id for task_id, (place, _, _) in self._running.items() if place == node]
        self._at(self.now + 600, "comes_back", node)
        return [Ended(task_id, "lost", reason="its node died", node=self._leave(task_id)) for task_id in lost]

    def _comes_back(self, node):
        self._dead.discard(node)
        self._at(self.now + self._random.expovariate(1 / self._between), "dies", node)
        return []


def simulated(num_fleets, num_nodes, places=8, hours_between_deaths=6.0, silence=900.0):
    """Returns how often each fleet was taken, the nodes, the driver, and the real seconds that it took."""
    nodes = SimulatedNodes(num_nodes, places, hours_between_deaths)
    taken = {f"fleet {number}": 0 for number in range(num_fleets)}

    def take(task, answer, bundles):
        taken[task.key] += 1

    driver = Driver(nodes, take, Patience(losses=50, silence=silence, tick=5.0), nodes.clock)
    tasks = [FleetTask(key, {"runs": [[0, seed, 0] for seed in range(64)], "side_by_side": 64}) for key in taken]
    began = time.perf_counter()
    driver.run(tasks)
    return taken, nodes, driver, time.perf_counter() - began


def main():
    arguments = flags(__doc__).parse_args()
    num_fleets, num_nodes = (500, 8) if arguments.small else (10_000, 64)
    sheet = Sheet(
        f"{num_fleets:,} fleets over {num_nodes} nodes that die",
        circumstances_of("benchmarks.study_driver", None, "cpu", arguments.commit),
        arguments.out,
    )
    logging.disable(logging.WARNING)  # hundreds of fleets are lost, and told
    taken, nodes, driver, seconds = simulated(num_fleets, num_nodes)
    sheet.begin_table(("what", "number"))
    sheet.add_row("fleets taken once", f"{sum(count == 1 for count in taken.values()):,}")
    sheet.add_row("fleets lost or taken twice", f"{sum(count != 1 for count in taken.values()):,}")
    sheet.add_row("deaths of nodes", f"{nodes.num_deaths:,}")
    sheet.add_row("fleets begun", f"{nodes.num_begun:,}")
    sheet.add_row("of which memory was too short", f"{nodes.num_short:,}")
    sheet.add_row("simulated hours", f"{nodes.now / HOUR:.1f}")
    sheet.add_row("milliseconds of the driver and the simulation per fleet", f"{1e3 * seconds / num_fleets:.2f}")
    assert not driver.failures


if __name__ == "__main__":
    main()
