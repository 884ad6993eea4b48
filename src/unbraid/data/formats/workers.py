"""Jobs done by other processes: JSON goes in, an array of bytes comes out, in the order of the jobs.

`multiprocessing` is not used. It runs the user's script again in each process, unless that is written for it, and sends
pickles. The processes here know nothing of the script, and import neither torch nor the rest of the package, which
would take seconds and 300 MB each. They end when their input does, and so with the process that started them, however
that ends.
"""

import contextlib
import importlib
import json
import os
import queue
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from jaxtyping import UInt8

from unbraid.errors import DataError, UnbraidError

# Empty packages stand in for the real ones, whose __init__ import all that there is.
_START = """
import json, sys, types
about = json.loads(sys.argv[1])
sys.path[:] = about["path"]
for name, folder in about["packages"].items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from unbraid.data.formats.workers import serve
serve(about["module"], about["function"])
"""


def num_cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    work: Callable[[Mapping[str, Any]], UInt8[np.ndarray, "..."]], jobs: Iterable[Mapping[str, Any]], num_workers: int
) -> Iterator[UInt8[np.ndarray, "..."]]:
    """`work` of each job, by this many processes. It is a function of a module of this package that can do without
    torch.

    Two jobs a worker are under way, and no more results than that wait to be taken. An error of the package comes out
    here as a DataError.
    """
    # Leaving, the workers end first: the threads that wait for them then see the end of their answers.
    with ThreadPoolExecutor(num_workers) as threads, contextlib.ExitStack() as processes:
        idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for _ in range(num_workers):
            idle.put(processes.enter_context(_Worker.started(work)))

        def do(job: Mapping[str, Any]) -> UInt8[np.ndarray, "..."]:
            worker = idle.get()
            try:
                return worker.do(job)
            finally:
                idle.put(worker)

        pending: deque[Future[np.ndarray]] = deque()
        try:
            for job in jobs:
                pending.append(threads.submit(do, job))
                if len(pending) >= 2 * num_workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


class _Worker:
    """A process, and the pipes that lead there and back."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._jobs, self._answers = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)

    @classmethod
    @contextlib.contextmanager
    def started(cls, work: Callable[..., Any]) -> Iterator["_Worker"]:
        try:
            process = subprocess.Popen(_command(work), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise DataError(
                f"A process to read pictures could not be started ({error}). Free some memory, or end other processes."
            ) from error
        with process:
            try:
                yield cls(process)
            finally:
                process.kill()

    def do(self, job: Mapping[str, Any]) -> UInt8[np.ndarray, "..."]:
        try:
            self._jobs.write(json.dumps(job).encode() + b"\n")
            self._jobs.flush()
            answer = json.loads(self._answers.readline())
            if "error" not in answer:
                result = np.empty(answer["shape"], np.uint8)
                if self._answers.readinto(result.reshape(-1).data) == result.size:  # type: ignore[attr-defined]
                    return result
        except (OSError, ValueError) as error:
            raise self._ended() from error
        raise DataError(answer["error"]) if "error" in answer else self._ended()

    def _ended(self) -> DataError:
        status = self._process.wait()
        return DataError(
            f"A process that was to read pictures ended with status {status}; what it last wrote is above. "
            "If it is -9, memory ran out: free some, and start again. What is done is kept."
        )


def _command(work: Callable[..., Any]) -> list[str]:
    data = Path(__file__).parent.parent
    packages = {"unbraid": str(data.parent), "unbraid.data": str(data)}
    about = {"path": sys.path, "packages": packages, "module": work.__module__, "function": work.__name__}
    # -P: the current folder may hold a module that is called like one of these.
    return [sys.executable, "-P", "-c", _START, json.dumps(about)]


def serve(module: str, function: str) -> None:
    """Do the jobs that come in until there are no more: what runs in a worker."""
    # Ctrl-C reaches every process of the terminal; the one that started this ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever prints must not do so into the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    work = getattr(importlib.import_module(module), function)
    with contextlib.suppress(BrokenPipeError):
        for line in sys.stdin.buffer:
            try:
                result = work(json.loads(line))
            except UnbraidError as error:
                answers.write(json.dumps({"error": str(error)}).encode() + b"\n")
            else:
                answers.write(json.dumps({"shape": result.shape}).encode() + b"\n")
                answers.write(np.ascontiguousarray(result).data)
            answers.flush()
