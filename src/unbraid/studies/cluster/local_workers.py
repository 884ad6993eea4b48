"""Workers that are processes of this machine, one per GPU or per share of its cores. They speak JSON lines."""

import contextlib
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid.studies.cluster.driver import Ended
from unbraid.studies.cluster.work import carry_out

_SIGN = json.dumps({"sign": True})


@final
@dataclass
class _Job:
    ticket: int
    order: str
    is_cancelled: bool = False


@final
class LocalWorkers:
    """A process for each of these environments: `{"CUDA_VISIBLE_DEVICES": "1"}` has the second GPU alone. Orders are
    taken in turn. A process that dies is started again with the next order.
    """

    def __init__(self, environments: Sequence[Mapping[str, str]]) -> None:
        self._orders: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._signs: dict[int, float] = {}
        self._jobs: dict[int, _Job] = {}
        self._processes: dict[int, subprocess.Popen[str]] = {}
        self._is_closed = False
        self._threads = [
            threading.Thread(target=self._work, args=(place, environment), daemon=True)
            for place, environment in enumerate(environments)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, ticket: int, order: str, num_parcels: int, avoid: Collection[str]) -> None:
        self._jobs[ticket] = _Job(ticket, order)
        self._orders.put(self._jobs[ticket])

    def wait(self, seconds: float) -> Iterator[Ended]:
        with contextlib.suppress(queue.Empty):
            yield self._ended.get(timeout=seconds)
            while True:
                yield self._ended.get_nowait()

    def cancel(self, ticket: int) -> None:
        if (job := self._jobs.pop(ticket, None)) is not None:
            job.is_cancelled = True
        if process := self._processes.get(ticket):
            process.kill()

    def signs(self) -> Mapping[int, float]:
        now = time.monotonic()
        return {ticket: now - at for ticket, at in list(self._signs.items())}

    def close(self) -> None:
        """Ends the processes; what they were at goes on from its last checkpoint another time."""
        self._is_closed = True
        for _ in self._threads:
            self._orders.put(None)
        for process in list(self._processes.values()):
            process.terminate()
        for thread in self._threads:
            thread.join(timeout=30)

    def _work(self, place: int, environment: Mapping[str, str]) -> None:
        process: subprocess.Popen[str] | None = None
        while (job := self._orders.get()) is not None and not self._is_closed:
            if job.is_cancelled:
                continue
            if process is not None and process.poll() is not None:
                _end(process)
                process = None
            process = process or _started(environment)
            self._processes[job.ticket], self._signs[job.ticket] = process, time.monotonic()
            ended = self._ask(process, job, f"process {place}")
            del self._processes[job.ticket], self._signs[job.ticket]
            if not job.is_cancelled:
                self._ended.put(ended)
        if process is not None:
            _end(process)

    def _ask(self, process: "subprocess.Popen[str]", job: _Job, node: str) -> Ended:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.write(job.order + "\n")
            process.stdin.flush()
            for line in process.stdout:
                content: dict[str, Any] = json.loads(line)
                if "sign" not in content:
                    return Ended(job.ticket, content["how"], content["text"], node=node)
                self._signs[job.ticket] = time.monotonic()
        return Ended(job.ticket, "lost", f"its process ended with status {process.wait()}", node=node)


def main() -> None:
    """Carries out orders until the input ends."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer

        def say(line: str) -> None:
            answers.write(line + "\n")
            answers.flush()

        for order in sys.stdin:
            try:
                text = next(iter(carry_out(order, lambda: say(_SIGN))))
                say(json.dumps({"how": "answered", "text": text}))
            except Exception as error:  # noqa: BLE001 (told to the study that ordered it)
                say(json.dumps({"how": "raised", "text": f"{type(error).__name__}: {error}"}))


def _started(environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    # In a session of its own: Ctrl-C is for the study, which ends its processes itself.
    return subprocess.Popen(
        [sys.executable, "-c", "from unbraid.studies.cluster.local_workers import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
        start_new_session=True,
    )


def _end(process: "subprocess.Popen[str]") -> None:
    with contextlib.suppress(OSError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
