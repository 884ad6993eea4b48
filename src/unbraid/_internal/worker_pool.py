"""A pool of worker processes on this machine.

Inputs and results of tasks are lines of JSON. Nothing is pickled, and workers do not import the calling script again.
A worker runs this module, reads task inputs from stdin and writes results to stdout.
"""

import contextlib
import io
import json
import logging
import os
import pkgutil
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, final

from unbraid.errors import UnbraidError

_OUT_OF_MEMORY = "; the system may have run out of memory"
_SECONDS_TO_JOIN = 5.0

Json = dict[str, Any]
Task = Callable[[Json, Callable[..., None]], Json]
"""Function that receives the task input and a callback to signal progress, and returns the result.

The callback takes an optional message, a dictionary that JSON can represent.
"""


@final
class Ended(NamedTuple):
    """Outcome of a submitted task: a result, a lost process or node, an out-of-memory error, or another exception.

    `answer` is the result, and `reason` the error message without one. `bundles` contains files from another machine.
    """

    task_id: Hashable
    how: Literal["answered", "lost", "out of memory", "raised"]
    answer: Mapping[str, Any] = {}
    reason: str = ""
    node: str = ""
    bundles: Iterable[bytes] = ()


@final
class WorkerPool:
    """Worker processes that run `task`, a function named "module:function".

    There is one process per environment, started at its first task and restarted after a crash. Without environments,
    tasks run in the calling process.
    """

    def __init__(self, task: str, environments: Sequence[Mapping[str, str]], *, grace: float = 0.0) -> None:
        self._task, self._environments, self._grace = task, environments, grace
        self._requests: queue.SimpleQueue[tuple[Hashable, Json] | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[Ended] = queue.SimpleQueue()
        self._messages: queue.SimpleQueue[Json] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()  # guards all below
        self._waiting: set[Hashable] = set()
        self._running: dict[Hashable, tuple[_Worker, float]] = {}
        self._workers: list[_Worker] = []
        self._is_closed = False

    @property
    def num_waiting(self) -> int:
        """Number of submitted tasks that have not finished."""
        return len(self._waiting)

    def submit(self, task_id: Hashable, request: Json, avoid: Collection[str] = ()) -> None:
        """Submits a task. `task_id` identifies the task. `avoid` is ignored: all workers are on this machine."""
        with self._lock:
            self._waiting.add(task_id)
        if not self._environments:
            self._ended.put(_ended(task_id, run_task(pkgutil.resolve_name(self._task), request)))
            return
        self._requests.put((task_id, request))
        if len(self._threads) < min(len(self._environments), self.num_waiting):
            thread = threading.Thread(target=self._work, args=(len(self._threads),), daemon=True)
            self._threads.append(thread)
            thread.start()

    def wait(self, seconds: float) -> list[Ended]:
        """Waits up to `seconds` for submitted tasks to finish. Returns their outcomes, or an empty list on timeout."""
        found: list[Ended] = []
        with contextlib.suppress(queue.Empty):
            if self._waiting:
                found.append(self._ended.get(timeout=seconds))
            while True:
                found.append(self._ended.get_nowait())
        with self._lock:
            found = [ended for ended in found if ended.task_id in self._waiting]
            self._waiting.difference_update(ended.task_id for ended in found)
        return found

    def messages(self) -> Iterator[Json]:
        """Yields the messages that tasks have sent with their progress signals since the last call."""
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._messages.get_nowait()

    def cancel(self, task_id: Hashable) -> None:
        """Cancels a submitted task at once. `wait` does not return its outcome."""
        with self._lock:
            self._waiting.discard(task_id)
            if task_id in self._running:
                self._running[task_id][0].process.kill()

    def seconds_silent(self) -> dict[Hashable, float]:
        """Returns the seconds since the last progress signal of each running task."""
        now = time.monotonic()
        with self._lock:
            return {task_id: now - heard for task_id, (_, heard) in self._running.items()}

    def close(self) -> None:
        """Stops the workers, and kills any worker still running after `grace` seconds."""
        with self._lock:
            self._is_closed = True  # from here on no process is started
            self._waiting.clear()
        for _ in self._threads:
            self._requests.put(None)
        deadline = time.monotonic() + self._grace
        try:
            for worker in self._workers:
                worker.ask_to_stop()
            for worker in self._workers:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    worker.process.wait(max(0.0, deadline - time.monotonic()))
        finally:  # also after a second Ctrl-C
            for worker in self._workers:
                worker.process.kill()
                worker.process.wait()
        for thread in self._threads:
            thread.join(_SECONDS_TO_JOIN)  # with a limit: a child process of a worker may hold its output open

    def _work(self, place: int) -> None:
        """Sends submitted tasks to one process until the pool is closed."""
        worker: _Worker | None = None
        while (item := self._requests.get()) is not None:
            task_id, request = item
            with self._lock:
                if self._is_closed:
                    break
                if task_id not in self._waiting:  # canceled
                    continue
                try:
                    worker = self._alive(worker, self._environments[place])
                except OSError as error:
                    self._ended.put(_ended(task_id, {"lost": f"its process could not be started ({error})"}))
                    continue
                self._running[task_id] = worker, time.monotonic()
            message = self._exchange(worker, task_id, request)
            with self._lock:
                del self._running[task_id]
            self._ended.put(_ended(task_id, message, f"process {place}"))
        if worker is not None:
            worker.output.close()

    def _alive(self, worker: "_Worker | None", environment: Mapping[str, str]) -> "_Worker":
        """Returns the worker, or a new worker if its process has ended."""
        if worker is not None:
            if worker.process.poll() is None:
                return worker
            worker.output.close()
        self._workers.append(_Worker(self._task, environment))
        return self._workers[-1]

    def _exchange(self, worker: "_Worker", task_id: Hashable, request: Json) -> Json:
        """Sends a task to the worker and returns the result."""
        with contextlib.suppress(OSError, ValueError):  # the process ended, or the pool was closed
            worker.write(request)
            for line in worker.output:
                if "beat" not in (message := json.loads(line)):
                    return dict(message)
                if message["beat"]:
                    self._messages.put(message["beat"])
                with self._lock:
                    self._running[task_id] = worker, time.monotonic()
        if not self._is_closed:  # else it has time to stop
            worker.process.kill()
        status = worker.process.wait()
        return {"lost": f"its process ended with status {status}{_OUT_OF_MEMORY * (status == -9)}"}


@final
class _Worker:
    """A process that runs submitted tasks.

    The module search path is copied from this process, with the current folder last, so that a module in a downloaded
    folder cannot replace an installed module. The current folder is added after Python has imported `sitecustomize`.
    """

    def __init__(self, task: str, environment: Mapping[str, str]) -> None:
        here = str(Path.cwd())
        installed = [path for path in sys.path if path not in ("", here)]
        last = [] if len(installed) == len(sys.path) else [here]
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "unbraid._internal.worker_pool", task, *last],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,  # closing a buffered pipe would wait for a thread that writes to it
            env={**os.environ, "PYTHONPATH": os.pathsep.join(installed), **environment},
            # Ctrl-C interrupts only this process, which stops its workers. Each system ignores the other's argument.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
        self._input: Any = self.process.stdin
        output: Any = self.process.stdout
        self.output = io.BufferedReader(output)

    def write(self, request: Json) -> None:
        content = json.dumps(request).encode() + b"\n"
        while content:
            content = content[self._input.write(content) :]

    def ask_to_stop(self) -> None:
        with contextlib.suppress(OSError):
            self._input.close()


def _ended(task_id: Hashable, message: Json, node: str = "") -> Ended:
    if "lost" in message:
        return Ended(task_id, "lost", reason=message["lost"], node=node)
    if "error" in message:
        return Ended(task_id, "raised", reason=message["error"], node=node)
    return Ended(task_id, "answered", message["answer"], node=node)


def run_task(task: Task, request: Json, beat: Callable[..., None] = lambda *_: None) -> Json:
    """Runs the task. Returns {"answer": ...}, or {"error": ..., "traceback": ...} if the task raised."""
    try:
        return {"answer": task(request, beat)}
    except Exception as error:  # noqa: BLE001 (reported to the process that submitted the task)
        name = "" if isinstance(error, UnbraidError) else f"{type(error).__name__}: "
        return {"error": f"{name}{error}", "traceback": traceback.format_exc()}


def _run_worker() -> None:
    """Runs the tasks read from stdin until it is closed."""
    _, task_name, *last = sys.argv
    sys.path.extend(last)
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    output = os.dup(1)
    os.dup2(2, 1)  # text that a library prints must not be parsed as a result

    def send(message: Json) -> None:
        content = json.dumps(message).encode() + b"\n"
        try:
            while content:
                content = content[os.write(output, content) :]
        except OSError:
            pass  # the other process has ended; `_read` stops this process

    requests: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_read, args=(requests, busy), daemon=True).start()
    task: Task = pkgutil.resolve_name(task_name)
    while (line := requests.get()) is not None:
        send(run_task(task, json.loads(line), lambda message=None: send({"beat": message})))
        busy.clear()


def _read(requests: "queue.SimpleQueue[bytes | None]", busy: threading.Event) -> None:
    """Queues the lines of the input.

    If the input ends during a task, because the pool was closed or its process was killed, this process gets a SIGTERM.
    Training then saves a checkpoint and stops.
    """
    started = b""
    while chunk := os.read(0, 1 << 16):  # not sys.stdin, whose lock would be held when the interpreter shuts down
        *lines, started = (started + chunk).split(b"\n")
        for line in lines:
            busy.set()
            requests.put(line)
    requests.put(None)
    if busy.is_set():
        signal.raise_signal(signal.SIGTERM)  # with `os.kill`, Windows would end the process without a checkpoint


if __name__ == "__main__":
    _run_worker()
