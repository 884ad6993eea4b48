"""An `.npz` read one entry at a time, never through pickle: what is not a plain array is refused, not run."""

import contextlib
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, final

import numpy as np

from unbraid.errors import DataError


@final
@dataclass(frozen=True)
class Header:
    """Shape and type of an entry, known without reading it."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


@final
@dataclass(frozen=True)
class Npz:
    """The file at `path`, opened anew for each question: nothing stays open, and nothing is read before it is asked for."""

    path: Path

    def __contains__(self, name: str) -> bool:
        with self._archive() as archive:
            return f"{name}.npy" in archive.namelist()

    @property
    def names(self) -> list[str]:
        """The entries, in the order in which they were saved."""
        with self._archive() as archive:
            return list(dict.fromkeys(entry.removesuffix(".npy") for entry in archive.namelist() if entry.endswith(".npy")))

    def header(self, name: str) -> Header:
        with self._archive() as archive, archive.open(self._member(archive, name)) as stream:
            return self._plain_header(name, stream, archive.getinfo(f"{name}.npy").file_size)

    def read(self, name: str) -> np.ndarray:
        self.header(name)
        with self._archive() as archive, archive.open(self._member(archive, name)) as stream:
            return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))

    def _member(self, archive: zipfile.ZipFile, name: str) -> str:
        names = sorted(entry.removesuffix(".npy") for entry in archive.namelist() if entry.endswith(".npy"))
        if name not in names:
            raise DataError(
                f"{self.path} has no array {name!r}; it holds {', '.join(names) or 'nothing'}. Save it with np.savez(path, {name}=...)."
            )
        return f"{name}.npy"

    def _plain_header(self, name: str, stream: IO[bytes] | zipfile.ZipExtFile, size: int) -> Header:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{name} is in version {version[0]}.{version[1]} of the .npy format, which plain arrays do not need")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        if dtype.hasobject:
            raise DataError(
                f"{name!r} in {self.path} holds Python objects, which only pickle can read and which unbraid never loads. "
                "Save it as a plain array of numbers or of fixed-width strings."
            )
        # Before anything is allocated: a header may promise more than the entry holds.
        if size - stream.tell() != int(np.prod(shape, dtype=object)) * dtype.itemsize:
            raise ValueError(f"{name} holds {size - stream.tell()} bytes, which is not what {dtype} of shape {shape} needs")
        return Header(tuple(int(length) for length in shape), dtype)

    @contextlib.contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                yield archive
        except FileNotFoundError:
            raise DataError(f"There is no file {self.path}. Check the path, or make the file with np.savez.") from None
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            OSError,
            ValueError,
            struct.error,
            NotImplementedError,
            RuntimeError,
            SyntaxError,
            tokenize.TokenError,
        ) as error:
            raise DataError(f"{self.path} is not a readable .npz ({error}). Write it again with np.savez, or fetch it again.") from error
