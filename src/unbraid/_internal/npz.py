"""Reading of `.npz` files, one entry at a time and without pickle: only plain arrays are read.

An `.npz` is a zip of `.npy` files, each stored (`np.savez`) or deflated (`np.savez_compressed`). The sizes in a zip are
compared with the file before anything is allocated, so that a small file cannot claim a large memory.
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

# Deflate spends at least two bits on 258 bytes, so no entry unpacks to more than this many times its size
# (zlib.net/zlib_tech.html: 1032).
_MAX_RATIO = 1040
# Images of a single white dot shrink to a six-hundredth. Entries that shrink more, and fill this much memory, are more
# likely an attack than data.
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
    """An .npz file that is opened anew for each access, without caching."""

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
                    f"{name!r} in {self.path} would unpack from {entry.compress_size:,} to {entry.file_size:,} bytes, "
                    "as a zip bomb does. If you trust it, write it again without compression, with np.savez."
                )
        with self._entry(archive, name) as (_, stream):
            array = np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
        if header.dtype.kind == "U" and header.num_bytes:
            letters = (
                np.ascontiguousarray(array).reshape(-1).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
            )
            if letters.max() > sys.maxunicode:
                raise ValueError(f"{name} holds numbers that are not characters")
        return array

    def blocks(self, name: str, num_rows: int, start: int = 0) -> Iterator[np.ndarray]:
        """Yields the rows of an entry from number `start` on, in order, up to `num_rows` at a time.

        Only the current block is in memory. Rows before `start` are skipped in a stored entry, and decompressed and
        dropped in a compressed entry.
        """
        whole = self.mapped(name) if start else None
        with self._archive() as archive, self._entry(archive, name) as (entry, stream):
            header = self._plain_header(name, stream, entry.file_size)
            if header.is_fortran_ordered:
                raise DataError(
                    f"{name!r} in {self.path} is in Fortran order, so its rows cannot be read one by one. Save "
                    "np.ascontiguousarray of it."
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
        """Returns the entry memory-mapped, without a copy; None if it is compressed.

        Writes to the array stay in memory. The checksum of the entry is not compared.
        """
        with self._archive() as archive, self._entry(archive, name) as (entry, stream):
            header = self._plain_header(name, stream, entry.file_size)
            if entry.compress_type != zipfile.ZIP_STORED or header.num_bytes == 0:
                return None
            with files.opened(self.path) as file:  # the content follows the local header of the entry
                file.seek(entry.header_offset)
                *_, name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            offset = entry.header_offset + _LOCAL_HEADER.size + name_length + extra_length + stream.tell()
            order: Literal["C", "F"] = "F" if header.is_fortran_ordered else "C"
            return np.memmap(
                files.regular(self.path), dtype=header.dtype, mode="c", offset=offset, shape=header.shape, order=order
            )

    @contextlib.contextmanager
    def _entry(self, archive: zipfile.ZipFile, name: str) -> Iterator[tuple[zipfile.ZipInfo, zipfile.ZipExtFile]]:
        """Checks the sizes of an array, then yields its directory entry and its content."""
        try:
            entry = archive.getinfo(f"{name}.npy")
        except KeyError:
            raise DataError(
                f"{self.path} has no array {name!r}; it holds {shown(sorted(_names(archive)), most=20) or 'nothing'}. "
                f"Save it with np.savez(path, {name}=...)."
            ) from None
        self._check_size(name, entry)
        with archive.open(entry) as stream:
            yield entry, cast(zipfile.ZipExtFile, stream)

    def _check_size(self, name: str, entry: zipfile.ZipInfo) -> None:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is compressed in a way that np.savez does not use (method {entry.compress_type})")
        length = self.path.stat().st_size
        if entry.header_offset + entry.compress_size > length:
            raise ValueError(f"{name} would take {entry.compress_size:,} bytes, and the file has only {length:,}")
        most = entry.compress_size * (_MAX_RATIO if entry.compress_type == zipfile.ZIP_DEFLATED else 1)
        if entry.file_size > most:
            raise DataError(
                f"{name!r} in {self.path} claims to unpack from {entry.compress_size:,} to {entry.file_size:,} bytes, "
                "which is impossible: it is damaged, or a zip bomb. Write it again with np.savez, or fetch it again."
            )

    def _plain_header(self, name: str, stream: zipfile.ZipExtFile, size: int) -> Header:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(
                f"{name} is in version {version[0]}.{version[1]} of the .npy format, which plain arrays do not need"
            )
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, is_fortran_ordered, dtype = read(stream)
        if dtype.hasobject:
            raise DataError(
                f"{name!r} in {self.path} holds Python objects, which need pickle, and unbraid never unpickles. Save "
                "it as a plain array of numbers or of fixed-width strings."
            )
        header = Header(tuple(int(length) for length in shape), dtype, is_fortran_ordered)
        # Before anything is allocated: a header may promise more than the entry holds.
        if size - stream.tell() != header.num_bytes:
            raise ValueError(
                f"{name} holds {size - stream.tell()} bytes, which is not what {dtype} of shape {shape} needs"
            )
        return header

    @contextlib.contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with files.opened(self.path) as file, zipfile.ZipFile(file) as archive:
                if len(archive.NameToInfo) < len(archive.filelist):
                    raise ValueError("it holds two entries of one name")
                yield archive
        except FileNotFoundError:
            raise DataError(f"There is no file {self.path}. Check the path, or make the file with np.savez.") from None
        except MemoryError:
            raise DataError(
                f"{self.path} does not fit into memory. Take a smaller file, or a machine with more memory."
            ) from None
        except DataError:
            raise
        except Exception as error:  # zipfile, zlib and NumPy raise a dozen types for damaged files
            raise DataError(
                f"{self.path} is not a readable .npz ({error}). Write it again with np.savez, or fetch it again."
            ) from error


def _names(archive: zipfile.ZipFile) -> list[str]:
    """Returns the distinct names of the arrays in an archive, in the order in which they were saved."""
    return list(dict.fromkeys(entry.removesuffix(".npy") for entry in archive.namelist() if entry.endswith(".npy")))
