"""Arrays from an HDF5 file, read by a process of its own: the HDF5 library may crash or hang on a damaged file, and we
must not.

Only plain arrays of numbers that lie in the file itself are read: no links, no values in other files, no filters but
those of the library.
"""

import contextlib
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, final

import numpy as np

from unbraid.data.formats.hdf5_process import NO_H5PY
from unbraid.errors import DataError

SECONDS_AN_ANSWER = 300.0
_SECONDS_TO_END = 2.0
# Python, NumPy and the library take a tenth of it; the rest is for a block and its copies.
_MAX_PROCESS_BYTES = 2 * 2**30
_BLOCK_BYTES = 32 * 2**20
_MAX_BLOCK_BYTES = 512 * 2**20
_MAX_ABOUT_BYTES = 2**20
_BYTES_A_READ = 2**20


class _Refused(Exception):  # noqa: N818 - an answer: the process is well, and the file is not
    """What the library says is wrong with a file."""


@final
@dataclass(frozen=True)
class Hdf5Header:
    """Shape and type of an array, and how many rows are packed together (None where each lies for itself)."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunk_rows: int | None

    @property
    def row_bytes(self) -> int:
        """Of one row: all that shares an index of the first axis."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def block_rows(self) -> int:
        """How many rows to read at once: whole chunks, so that each is unpacked once, unless that would take too much
        memory.
        """
        row_bytes, chunk_rows = max(1, self.row_bytes), self.chunk_rows or 1
        if chunk_rows * row_bytes > _MAX_BLOCK_BYTES:
            return max(1, _MAX_BLOCK_BYTES // row_bytes)
        return max(1, _BLOCK_BYTES // (chunk_rows * row_bytes)) * chunk_rows


@final
class Hdf5Reader:
    """Answers questions about HDF5 files, any number of them, by way of a process that is started when it is needed and
    again if it dies.

    To be used in a `with` statement, at the end of which the process ends.
    """

    def __init__(self, seconds_an_answer: float = SECONDS_AN_ANSWER, max_bytes: int = _MAX_PROCESS_BYTES) -> None:
        self._seconds, self._max_bytes = seconds_an_answer, max_bytes
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Hdf5Reader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    def header(self, path: Path, name: str) -> Hdf5Header:
        return self._ask(path, name, None)[0]

    def read(self, path: Path, name: str, start: int, stop: int) -> np.ndarray:
        """The rows from `start` up to `stop`, which is not among them. Not all at once where they are many: see
        `blocks`.
        """
        header, content = self._ask(path, name, slice(start, stop))
        return np.frombuffer(content, dtype=header.dtype).reshape(-1, *header.shape[1:])

    def blocks(self, path: Path, name: str, start: int = 0) -> Iterator[np.ndarray]:
        """The rows from number `start` on, in order and in blocks. Blocks begin where chunks do, so that each chunk is
        unpacked once.
        """
        header = self.header(path, name)
        num_rows, step = header.shape[0], header.block_rows
        while start < num_rows:
            stop = min(num_rows, (start // step + 1) * step)
            yield self.read(path, name, start, stop)
            start = stop

    def _ask(self, path: Path, name: str, rows: slice | None) -> tuple[Hdf5Header, bytearray]:
        if not path.is_file():
            raise DataError(f"There is no file {path}. Check the path.")
        wanted = {} if rows is None else {"start": rows.start, "stop": rows.stop}
        try:
            return self._exchange(json.dumps({"path": str(path), "name": name, **wanted}).encode() + b"\n", rows)
        except (EOFError, OSError, ValueError) as error:
            raise DataError(_unreadable(path, self._end() or str(error))) from error
        except _Refused as refused:
            raise DataError(_unreadable(path, str(refused))) from None

    def _exchange(self, request: bytes, rows: slice | None) -> tuple[Hdf5Header, bytearray]:
        """What the process answers, which is not trusted either: whoever wrote the file may have taken the process
        over.
        """
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = _started(self._max_bytes)
        process, deadline = self._process, time.monotonic() + self._seconds
        if process.stdin is None or process.stdout is None:
            raise OSError("the process that reads it has no pipes")
        process.stdin.write(request)
        process.stdin.flush()
        source = process.stdout.fileno()
        length = int.from_bytes(_received(source, 8, deadline), "little")
        if length > _MAX_ABOUT_BYTES:
            raise ValueError(f"an answer of {length:,} bytes came")
        about = json.loads(bytes(_received(source, length, deadline)))
        if isinstance(about, dict) and "error" in about:
            raise _Refused(str(about["error"])[:300])
        header = _checked_header(about)
        num_rows = 0 if rows is None else len(range(*rows.indices(header.shape[0])))
        num_bytes = num_rows * header.row_bytes
        if about.get("bytes", 0) != num_bytes or num_bytes > _MAX_BLOCK_BYTES:
            raise ValueError(f"{num_rows} rows of {header.row_bytes:,} bytes came as {about.get('bytes', 0):,}")
        return header, _received(source, num_bytes, deadline)

    def _end(self) -> str | None:
        """End the process; what is known of how it ended by itself, if it did."""
        process, self._process = self._process, None
        if process is None:
            return None
        with process:
            for pipe in (process.stdin, process.stdout):
                # It may be broken already.
                with contextlib.suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            try:
                # Without pipes it ends, unless it hangs; and how it ends tells what happened.
                status = process.wait(timeout=_SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                return None
        if status == NO_H5PY:
            return "h5py, which reads it, cannot be imported: install it again with pip install h5py"
        return f"the HDF5 library crashed on it: {signal.strsignal(-status)}" if status < 0 else None


def _started(max_bytes: int) -> subprocess.Popen[bytes]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        # To HDF5 this means that no plugin is ever loaded.
        "HDF5_PLUGIN_PRELOAD": "::",
        # Each thread of a linear algebra library, of which none is needed, takes address space from the limit.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    script = Path(__file__).with_name("hdf5_process.py")
    # -P: the folder of the script holds modules of ours, which must not be taken for others of their name.
    command = [sys.executable, "-P", str(script), str(max_bytes)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )


def _received(source: int, num_bytes: int, deadline: float) -> bytearray:
    """So many bytes from the pipe, or an error when they do not come in time, or never will."""
    content, done = bytearray(num_bytes), 0
    poller = select.poll()
    poller.register(source, select.POLLIN)
    with memoryview(content) as view:
        while done < num_bytes:
            if not poller.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError("the HDF5 library takes too long over it")
            if (length := os.readv(source, [view[done : done + _BYTES_A_READ]])) == 0:
                raise EOFError("the process that reads it has ended")
            done += length
    return content


def _checked_header(about: Any) -> Hdf5Header:
    shape, dtype, chunk_rows = (
        about.get(key) if isinstance(about, dict) else None for key in ("shape", "dtype", "chunk_rows")
    )
    lengths = [*(shape if isinstance(shape, list) else [None]), 1 if chunk_rows is None else chunk_rows]
    if (
        not shape
        or not all(type(length) is int and length >= 0 for length in lengths)
        or not re.fullmatch(r"[<|][biuf]\d\d?", str(dtype))
    ):
        raise ValueError(f"a header came that is none: {about!r:.200}")
    return Hdf5Header(tuple(lengths[:-1]), np.dtype(str(dtype)), chunk_rows)


def _unreadable(path: Path, reason: str) -> str:
    return f"{path} is not a readable HDF5 file ({reason}). It may be cut short or damaged: fetch it again."
