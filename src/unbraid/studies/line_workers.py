"""Processes that answer lines of JSON with lines of JSON, each with one thread; or this one in their place.

No pickle goes between processes, and a script that starts them is not imported again by each.
"""

import contextlib
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any, final

Answer = dict[str, Any]


@final
class LineWorkers:
    """A pool of processes. Orders are given by `give`; `next` waits for an answer. Without processes an order is
    carried out by `here` when it is given.

    A process is started as `python -c program`, which calls `answer_lines`. What it cannot answer, because it ended, is
    answered by {"error": why}.
    """

    def __init__(self, num_processes: int, program: str, here: Callable[[str], Answer]) -> None:
        self._most, self._program, self._here = num_processes, program, here
        self._orders: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[str, Answer]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._processes: list[subprocess.Popen[str]] = []
        self._is_closed = False
        self.num_waiting = 0

    def give(self, name: str, line: str) -> None:
        """Orders what this line asks for. The answer comes with the name."""
        self.num_waiting += 1
        if self._most == 0:
            self._answers.put((name, self._here(line)))
            return
        self._orders.put((name, line))
        if len(self._threads) < min(self._most, self.num_waiting):
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
            thread.start()

    def next(self, *, wait: bool) -> tuple[str, Answer] | None:
        """Returns the name of an order and its answer; None if there is none yet, or none to wait for."""
        if self.num_waiting == 0:
            return None
        try:
            answered = self._answers.get(block=wait)
        except queue.Empty:
            return None
        self.num_waiting -= 1
        return answered

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
            name, line = item
            if process is None or process.poll() is not None:
                process = self._start()
            self._answers.put((name, _ask(process, line)))

    def _start(self) -> "subprocess.Popen[str]":
        # In a session of its own: Ctrl-C is for the study, which ends its processes itself.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(
            [sys.executable, "-c", self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        self._processes.append(process)
        return process


@contextlib.contextmanager
def line_workers(num_processes: int, program: str, here: Callable[[str], Answer]) -> Iterator[LineWorkers]:
    """Gives a pool that is closed at the end of the block."""
    pool = LineWorkers(num_processes, program, here)
    try:
        yield pool
    finally:
        pool.close()


def answer_lines(told: Callable[[str], Answer]) -> None:
    """Answers the lines of the input until it ends: what a process of the pool does."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
        for line in sys.stdin:
            answers.write(json.dumps(told(line)) + "\n")
            answers.flush()


def _ask(process: "subprocess.Popen[str]", line: str) -> Answer:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        said = process.stdout.readline()
    except OSError as error:
        return {"error": f"its process ended ({error})"}
    if not said:
        return {"error": f"its process ended with status {process.wait()}; memory may have run out"}
    answer: Answer = json.loads(said)
    return answer
