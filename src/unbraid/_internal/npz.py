"""Reading of `.npz` files, one entry at a time and without pickle: only plain arrays are read.

An `.npz` is a zip of `.npy` files, each stored (`np.savez`) or deflated (`np.savez_compressed`). The sizes in the zip
headers are checked against the file size before memory is allocated, so that a small file cannot exhaust the memory.
"""

import contextlib
import struct
import sys
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, final

import numpy as np

from unbraid._internal import files
from unbraid._internal.arrays import shown
from unbraid.errors import DataError

# Maximum compression ratio of Deflate, which uses at least two bits for 258 bytes (zlib.net/zlib_tech.html: 1032).
_MAX_RATIO = 1040
# Images of a single white dot compress 600 to 1. Larger entries with a higher compression ratio are more likely an
# attack than data.
_SUSPECT_RATIO = 900
_SUSPECT_BYTES = 2**30
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


@final
@dataclass(frozen=True)
class Header:
    """Shape, type and memory order of an entry, as read from its header."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fortran_ordered: bool = False
    """Whether the first axis varies fastest (Fortran order). Rows are then not contiguous."""

    @property
    def num_bytes(self) -> int:
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        """Size in bytes of one row, an entry of the first axis."""
        return int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize


@final
@dataclass(frozen=True)
class Npz:
    """An .npz file, reopened for each access. Nothing is cached."""

    path: Path

    def __contains__(self, name: str) -> bool:
        with self._archive() as archive:
            return f"{name}.npy" in archive.namelist()

    @property
    def names(self) -> list[str]:
        """Names of the entries, in the order in which they were saved."""
        with self._archive() as archive:
            return _names(archive)

    def header(self, name: str) -> Header:
        return self.headers([name])[name]

    def headers(self, names: Iterable[str]) -> dict[str, Header]:
        """Returns the headers of these entries."""
        with self._archive() as archive:
            return {name: self._header(archive, name) for name in names}

    def read(self, name: str) -> np.ndarray:
        """Reads one entry into memory."""
        return self.read_all([name])[name]

    def read_all(self, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Reads these entries into memory."""
        with self._archive() as archive:
            return {name: self._array(archive, name) for name in names}

    def _header(self, archive: zipfile.ZipFile, name: str) -> Header:
        with self._entry(archive, name) as (entry, stream):
            return self._plain_header(name, stream, entry.file_size)

    def _array(self, archive: zipfile.ZipFile, name: str) -> np.ndarray:
        with self._entry(archive, name) as (entry, stream):
            header = self._plain_header(name, stream, entry.file_size)
            if header.num_bytes > max(_SUSPECT_BYTES, _SUSPECT_RATIO * entry.compress_size):
                raise DataError(
                    f"{name!r} in {self.path} unpacks from {entry.compress_size:,} to {entry.file_size:,} bytes, as a "
                    f"zip bomb does; expected at most {_SUSPECT_RATIO} times. If you trust it, save it with np.savez."
                )
        with self._entry(archive, name) as (_, stream):
            array = np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
        if header.dtype.kind == "U" and header.num_bytes:
            letters = (
                np.ascontiguousarray(array).reshape(-1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
            )
            if letters.max() > sys.maxunicode:
                raise ValueError(f"{name} contains invalid Unicode characters")
        return array

    def blocks(self, name: str, num_rows: int, start: int = 0) -> Iterator[np.ndarray]:
        """Yields blocks of up to `num_rows` consecutive rows of an entry, from row `start` on.

        Only the current block is in memory. Rows before `start` are skipped in a stored entry. In a compressed entry
        they are decompressed and discarded.
        """
        whole = self.mapped(name) if start else None
        with self._archive() as archive, self._entry(archive, name) as (entry, stream):
            header = self._plain_header(name, stream, entry.file_size)
            if header.is_fortran_ordered:
                raise DataError(
                    f"{name!r} in {self.path} is in Fortran order; expected C order, to read rows one by one. Save "
                    "np.ascontiguousarray(array)."
                )
            if whole is None:
                stream.seek(start * header.row_bytes, 1)
            for first in range(start, header.shape[0], num_rows):
                length = min(num_rows, header.shape[0] - first)
                if whole is not None:
                    yield whole[first : first + length]
                    continue
                content = stream.read(length * header.row_bytes)
                if len(content) != length * header.row_bytes:
                    raise EOFError(f"{name} ends within rows {first} to {first + length - 1}")
                yield np.frombuffer(content, dtype=header.dtype).reshape(length, *header.shape[1:])

    def mapped(self, name: str) -> np.ndarray | None:
        """Returns an entry as a memory-mapped array, or None for a compressed or empty entry.

        Writes to the array do not change the file. The checksum of the entry is not verified.
        """
        with self._archive() as archive, self._entry(archive, name) as (entry, stream):
            header = self._plain_header(name, stream, entry.file_size)
            if entry.compress_type != zipfile.ZIP_STORED or header.num_bytes == 0:
                return None
            with files.opened(self.path) as file:  # the content follows the local header
                file.seek(entry.header_offset)
                *_, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            offset = entry.header_offset + _LOCAL_HEADER.size + name_length + extra_length + stream.tell()
            order: Literal["C", "F"] = "F" if header.is_fortran_ordered else "C"
            return np.memmap(
                files.regular(self.path), dtype=header.dtype, mode="c", offset=offset, shape=header.shape, order=order
            )

    @contextlib.contextmanager
    def _entry(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[zipfile.ZipInfo, zipfile.ZipExtFile]]:
        """Checks the size of an array, then yields its entry in the zip directory and its open stream."""
        try:
            entry = archive.getinfo(f"{name}.npy")
        except KeyError:
            raise DataError(
                f"{self.path} has no array {name!r}, only {shown(sorted(_names(archive)), most=20) or 'no arrays'}. "
                f"Add the array: np.savez(path, {name}=...)."
            ) from None
        self._check_size(name, entry)
        with archive.open(entry) as stream:
            yield entry, cast(zipfile.ZipExtFile, stream)

    def _check_size(self, name: str, entry: zipfile.ZipInfo) -> None:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} has compression method {entry.compress_type}; expected stored or deflated")
        length = self.path.stat().st_size
        if entry.header_offset + entry.compress_size > length:
            raise ValueError(f"{name} needs {entry.compress_size:,} bytes; the file has only {length:,}")
        most = entry.compress_size * (_MAX_RATIO if entry.compress_type == zipfile.ZIP_DEFLATED else 1)
        if entry.file_size > most:
            raise DataError(
                f"{name!r} in {self.path} unpacks from {entry.compress_size:,} to {entry.file_size:,} bytes by its zip "
                f"header; expected at most {most:,}. Rewrite the damaged file with np.savez, or download it again."
            )

    def _plain_header(self, name: str, stream: zipfile.ZipExtFile, size: int) -> Header:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(
                f"{name} has version {version[0]}.{version[1]} of the .npy format; expected version 1.0 or 2.0"
            )
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran_ordered, dtype = read(stream)
        if dtype.hasobject:
            raise DataError(
                f"{name!r} in {self.path} contains pickled Python objects, which unbraid never loads; expected a plain "
                "array. Save numbers or fixed-width strings."
            )
        header = Header(tuple(int(length) for length in shape), dtype, is_fortran_ordered)
        # Checked before memory is allocated, because the header may be wrong.
        if size - stream.tell() != header.num_bytes:
            raise ValueError(
                f"{name} has {size - stream.tell()} bytes; expected {header.num_bytes} for {dtype} of shape {shape}"
            )
        return header

    @contextlib.contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with files.opened(self.path) as file, zipfile.ZipFile(file) as archive:
                if len(archive.NameToInfo) < len(archive.filelist):
                    raise ValueError("two entries have the same name")
                yield archive
        except FileNotFoundError:
            raise DataError(f"There is no file {self.path}. Check the path, or write it with np.savez.") from None
        except MemoryError:
            raise DataError(
                f"{self.path} does not fit into memory. Use a smaller file, or a machine with more memory."
            ) from None
        except DataError:
            raise
        except Exception as error:  # zipfile, zlib and NumPy raise a dozen types for damaged files
            raise DataError(
                f"{self.path} is not a readable .npz ({error}). Write it with np.savez, or download it again."
            ) from error


def _names(archive: zipfile.ZipFile) -> list[str]:
    """Returns the distinct names of the arrays in an archive, in the order in which they were saved."""
    return list(dict.fromkeys(entry.removesuffix(".npy") for entry in archive.namelist() if entry.endswith(".npy")))
