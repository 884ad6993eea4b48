"""The binary matrices of the NORB sets: how one is checked, and read a few rows at a time.

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

from unbraid import files
from unbraid.errors import DataError

Type = Literal["uint8", "int32"]

_MAGIC = 0x1E3D4C00
_TYPES = {0x51: "float32", 0x52: "packed", 0x53: "float64", 0x54: "int32", 0x55: "uint8", 0x56: "int16"}
_MAX_DIMENSIONS = 8
_GZIP_MAGIC = b"\x1f\x8b"


@final
@dataclass(frozen=True)
class Matrix:
    """The matrix in a file, gzipped or not (by its first bytes, not its name). Its values stay there until they are
    asked for.
    """

    path: Path
    type: Type
    shape: tuple[int, ...]

    @classmethod
    def of(cls, path: Path, type_: Type, row_shape: tuple[int, ...], max_rows: int) -> "Matrix":
        """What the file says it holds, which must be rows of this type and shape, at least one and at most so many."""
        with _opened(path) as stream:
            found, shape = _header(stream)
            begin = stream.tell()
            is_gzipped = isinstance(stream, gzip.GzipFile)
        if found != type_:
            raise DataError(f"{path} holds values of type {found}; expected {type_}. Fetch the official file.")
        if shape[1:] != row_shape or not 1 <= shape[0] <= max_rows:
            expected = ", ".join(["1 to " + f"{max_rows}", *map(str, row_shape)])
            raise DataError(f"{path} has shape {shape}; expected ({expected}). Fetch the official file.")
        matrix = cls(path, type_, shape)
        # How much a gzipped file holds shows only when it is read.
        if not is_gzipped and path.stat().st_size != (end := begin + shape[0] * matrix._row_bytes):
            raise DataError(
                f"{path} has {path.stat().st_size} bytes, where its header promises {end}. It may be cut short: fetch "
                "it again."
            )
        return matrix

    @property
    def _row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * np.dtype(self.type).itemsize

    def read(self) -> np.ndarray:
        (values,) = self.blocks(self.shape[0])
        return values

    def blocks(self, rows_at_a_time: int, start: int = 0) -> Iterator[np.ndarray]:
        """The rows from number `start` on. A file that holds fewer or more than it promises is refused when that
        shows.
        """
        dtype, row_bytes = np.dtype(self.type).newbyteorder("<"), self._row_bytes
        with _opened(self.path) as stream:
            _header(stream)
            stream.seek(start * row_bytes, 1)
            for first in range(start, self.shape[0], rows_at_a_time):
                num_rows = min(rows_at_a_time, self.shape[0] - first)
                content = stream.read(num_rows * row_bytes)
                if len(content) != num_rows * row_bytes:
                    raise ValueError(
                        f"it promises {self.shape[0]} rows and ends in number {first + len(content) // row_bytes}"
                    )
                yield np.frombuffer(content, dtype).reshape(num_rows, *self.shape[1:])
            # At the end of a gzipped file its checksum is compared.
            if stream.read(1):
                raise ValueError(f"it goes on after the {self.shape[0]} rows that it promises")


def _header(stream: BufferedIOBase) -> tuple[str, tuple[int, ...]]:
    """The type of the values and the lengths of the dimensions."""
    magic, num_dimensions = struct.unpack("<II", stream.read(8))
    if magic & 0xFFFFFF00 != _MAGIC or magic & 0xFF not in _TYPES:
        raise ValueError(
            f"it begins with {magic:#010x}, where matrices begin with {_MAGIC + 0x51:#010x} to {_MAGIC + 0x56:#010x}"
        )
    if not 1 <= num_dimensions <= _MAX_DIMENSIONS:
        raise ValueError(f"it has {num_dimensions} dimensions; expected 1 to {_MAX_DIMENSIONS}")
    num_lengths = max(3, num_dimensions)
    lengths = struct.unpack(f"<{num_lengths}I", stream.read(4 * num_lengths))
    return _TYPES[magic & 0xFF], lengths[:num_dimensions]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    try:
        with files.opened(path) as file:
            is_gzipped = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            yield gzip.GzipFile(fileobj=file) if is_gzipped else file
    except (EOFError, OSError, zlib.error, struct.error, ValueError) as error:
        raise DataError(
            f"{path} is not a readable NORB matrix ({error}). It may be cut short or damaged: fetch it again."
        ) from error
