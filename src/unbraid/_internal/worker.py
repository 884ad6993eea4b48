"""A process of a `WorkerPool`. It reads orders from its input and writes what came of them to its output, as lines of
JSON.
"""

import json
import logging
import os
import pkgutil
import queue
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from unbraid.errors import UnbraidError

Json = dict[str, Any]
Task = Callable[[Json, Callable[[], None]], Json]
"""A function of an order and of a callback that signals progress. It returns the answer."""


def run_task(task: Task, order: Json, beat: Callable[[], None] = lambda: None) -> Json:
    """Returns how the order ended: {"answer": ...}, or {"error": ..., "traceback": ...} if the task raised."""
    try:
        return {"answer": task(order, beat)}
    except Exception as error:  # noqa: BLE001 (reported to the process that gave the order)
        name = "" if isinstance(error, UnbraidError) else f"{type(error).__name__}: "
        return {"error": f"{name}{error}", "traceback": traceback.format_exc()}


def main() -> None:
    """Carries out orders until the input ends."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    output = os.dup(1)
    os.dup2(2, 1)  # whatever a library prints is not an answer

    def send(message: Json) -> None:
        content = json.dumps(message).encode() + b"\n"
        try:
            while content:
                content = content[os.write(output, content) :]
        except OSError:
            pass  # the other process has ended, which the reader notices

    orders: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    busy = threading.Event()
    threading.Thread(target=_read, args=(orders, busy), daemon=True).start()
    task: Task = pkgutil.resolve_name(sys.argv[1])
    while (line := orders.get()) is not None:
        send(run_task(task, json.loads(line), lambda: send({"beat": True})))
        busy.clear()


def _read(orders: "queue.SimpleQueue[bytes | None]", busy: threading.Event) -> None:
    """Queues the lines of the input. If it ends during an order, SIGTERM stops this process: a training saves a
    checkpoint first. So workers stop when the pool is closed, and when its process is killed.
    """
    started = b""
    while chunk := os.read(0, 1 << 16):  # not sys.stdin, whose lock would be held when the interpreter shuts down
        *lines, started = (started + chunk).split(b"\n")
        for line in lines:
            busy.set()
            orders.put(line)
    orders.put(None)
    if busy.is_set():
        os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
