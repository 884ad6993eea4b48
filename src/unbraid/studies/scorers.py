"""Scores runs in parallel processes, each with one thread, or in this one."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from unbraid.studies.questions import Question
from unbraid.studies.scorer import order, told


@final
@dataclass(frozen=True)
class Scored:
    """What came of scoring one run: nothing to say, or the error, or the metrics that failed with their tracebacks."""

    folder: Path
    error: str = ""
    failed: dict[str, str] = field(default_factory=dict)


@final
class Scorers:
    """A pool of processes that score runs. Orders are given by `give`; `next` waits for an answer. Without processes
    an order is carried out when it is given.
    """

    def __init__(self, num_processes: int, device: str, packages: list[str]) -> None:
        self._device, self._packages, self._most = device, packages, num_processes
        self._orders: queue.SimpleQueue[tuple[Path, str] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Scored] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._processes: list[subprocess.Popen[str]] = []
        self._is_closed = False
        self.num_waiting = 0

    def give(self, folder: Path, questions: list[Question]) -> None:
        """Orders the scores that these questions ask of the run in this folder."""
        line = order(folder, questions, self._device, self._packages)
        self.num_waiting += 1
        if self._most == 0:
            self._answers.put(_scored(folder, told(line)))
            return
        self._orders.put((folder, line))
        if len(self._threads) < min(self._most, self.num_waiting):
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
            thread.start()

    def next(self, *, wait: bool) -> Scored | None:
        """Returns an answer; None if there is none yet, or none to wait for."""
        if self.num_waiting == 0:
            return None
        try:
            scored = self._answers.get(block=wait)
        except queue.Empty:
            return None
        self.num_waiting -= 1
        return scored

    def close(self) -> None:
        """Ends the processes; what they are at is lost and can be ordered again."""
        self._is_closed = True
        for _ in self._threads:
            self._orders.put(None)
        for process in self._processes:
            with contextlib.suppress(OSError):
                process.kill()
        for thread in self._threads:
            thread.join(timeout=10)
        for process in self._processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()

    def _work(self) -> None:
        """Hands orders to a process of its own, which is started again if it dies."""
        process: subprocess.Popen[str] | None = None
        while (item := self._orders.get()) is not None:
            if self._is_closed:
                return
            folder, line = item
            if process is None or process.poll() is not None:
                process = self._start()
            self._answers.put(_ask(process, folder, line))

    def _start(self) -> "subprocess.Popen[str]":
        # In a session of its own: Ctrl-C is for the study, which ends its processes itself.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(
            [sys.executable, "-c", "from unbraid.studies.scorer import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._processes.append(process)
        return process


@contextlib.contextmanager
def scorers(num_processes: int, device: str, packages: list[str]) -> Iterator[Scorers]:
    """Gives a pool that is closed at the end of the block."""
    pool = Scorers(num_processes, device, packages)
    try:
        yield pool
    finally:
        pool.close()


def _ask(process: "subprocess.Popen[str]", folder: Path, line: str) -> Scored:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        said = process.stdout.readline()
    except OSError as error:
        return Scored(folder, f"its process ended ({error})")
    if not said:
        return Scored(folder, f"its process ended with status {process.wait()}; memory may have run out")
    return _scored(folder, json.loads(said))


def _scored(folder: Path, content: dict[str, Any]) -> Scored:
    return Scored(folder, content.get("error", ""), content.get("failed", {}))
