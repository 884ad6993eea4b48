"""The binary matrices of the NORB sets, read a few rows at a time.

A file is little-endian throughout: a magic number for the type of the values, the number of dimensions, their lengths
(three at least: what a matrix of fewer does not need is there, and without meaning), all as 32-bit integers, and then
the values, the last index fastest (cs.nyu.edu/~ylclab/data/norb-v1.0-small).
"""

import contextlib
import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Literal, final

import numpy as np

from unbraid._internal import files
from unbraid.errors import DataError

_MAGICS = {"int32": 0x1E3D4C54, "uint8": 0x1E3D4C55}


@final
@dataclass(frozen=True)
class Matrix:
    """Matrix in a file, gzipped if its name ends so. Its values are read when they are asked for."""

    path: Path
    type: Literal["uint8", "int32"]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, path: Path, type_: Literal["uint8", "int32"], row_shape: tuple[int, ...], max_rows: int) -> "Matrix":
        """Returns the matrix, which must have rows of this type and shape, at least one and at most so many."""
        num_dimensions = 1 + len(row_shape)
        with _opened(path) as stream:
            magic, found = struct.unpack("<II", stream.read(8))
            lengths = struct.unpack("<4I", stream.read(16).ljust(16, b"\0"))
            shape = lengths[:num_dimensions]
            if (magic, found, shape[1:]) != (_MAGICS[type_], num_dimensions, row_shape) or not 1 <= shape[
                0
            ] <= max_rows:
                raise ValueError(
                    f"it begins with {magic:#010x} and {found} dimensions, {lengths}; expected {_MAGICS[type_]:#010x} "
                    f"and {num_dimensions}, 1 to {max_rows} rows of {row_shape}"
                )
        return cls(path, type_, shape)

    def read(self) -> np.ndarray:
        (values,) = self.blocks(self.shape[0])
        return values

    def blocks(self, rows_at_a_time: int, start: int = 0) -> Iterator[np.ndarray]:
        """Yields the rows from number `start` on. A file that holds fewer or more than it promises is refused when that
        shows.
        """
        dtype = np.dtype(self.type).newbyteorder("<")
        row_bytes = math.prod(self.shape[1:]) * dtype.itemsize
        with _opened(self.path) as stream:
            stream.seek(8 + 4 * max(3, len(self.shape)) + start * row_bytes)
            for first in range(start, self.shape[0], rows_at_a_time):
                num_rows = min(rows_at_a_time, self.shape[0] - first)
                content = stream.read(num_rows * row_bytes)
                if len(content) != num_rows * row_bytes:
                    raise ValueError(
                        f"it promises {self.shape[0]} rows and ends in number {first + len(content) // row_bytes}"
                    )
                yield np.frombuffer(content, dtype).reshape(num_rows, *self.shape[1:])
            if stream.read(1):
                raise ValueError(f"it has more than the {self.shape[0]} rows that its header states")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    try:
        with files.opened(path) as file:
            yield gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    except (EOFError, OSError, zlib.error, struct.error, ValueError) as error:
        raise DataError(
            f"{path} is not a readable NORB matrix ({error}). It may be cut short or damaged: fetch it again."
        ) from error
