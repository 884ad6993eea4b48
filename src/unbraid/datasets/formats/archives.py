"""Reading of files in a folder or in an archive, without unpacking on disk.

`Zip` and a gzipped `Tar` require an archive whose published checksum was verified. A folder and a plain `Tar` may be
untrusted: sizes are checked before content is read, and entries other than files and folders raise an error.
"""

import contextlib
import gzip
import io
import os
import stat
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast, final

from unbraid._internal import files
from unbraid.errors import DataError

MAX_MEMBER_BYTES = 2**30
_MAX_TAR_HEADER_BYTES = 2**20


@final
@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """File in a folder or an archive: name with `/` between folders, size, and offset in a tar."""

    name: str
    num_bytes: int
    offset: int = 0


class Container(ABC):
    """Folder or archive of files. Each call opens the archive again."""

    path: Path

    @abstractmethod
    def members(self) -> tuple[ArchiveMember, ...]:
        """Returns all files sorted by name, without folders."""

    def named(self, member: ArchiveMember) -> str:
        """Returns the name of the file for error messages."""
        return f"{member.name} in {self.path}"

    @abstractmethod
    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        """Yields the contents of files in order. A gzipped tar is read again at each decrease of `offset`."""


@final
@dataclass(frozen=True)
class Folder(Container):
    """Files in a folder and its subfolders."""

    path: Path
    max_member_bytes: int = MAX_MEMBER_BYTES

    def members(self) -> tuple[ArchiveMember, ...]:
        found = []
        try:
            for folder, subfolders, names in os.walk(self.path, onerror=_raise):
                subfolders.sort()
                for name in names:
                    place = Path(folder, name)
                    about = place.stat()
                    if stat.S_ISREG(about.st_mode):
                        found.append(ArchiveMember(place.relative_to(self.path).as_posix(), about.st_size))
        except OSError as error:
            raise _unreadable(error.filename or self.path, error) from None
        return tuple(sorted(found, key=lambda member: member.name))

    def named(self, member: ArchiveMember) -> str:
        return str(self.path / member.name)

    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        for member in members:
            place = self.path / member.name
            content = read_bounded(place, self.max_member_bytes)
            if len(content) != member.num_bytes:
                raise DataError(
                    f"{place} no longer has {member.num_bytes} bytes. Do not change the folder while it is read."
                )
            yield content


@final
@dataclass(frozen=True)
class Zip(Container):
    """Members of a zip archive whose published checksum was verified."""

    path: Path

    def members(self) -> tuple[ArchiveMember, ...]:
        with files.opened(self.path) as file, zipfile.ZipFile(file) as archive:
            found = [
                ArchiveMember(entry.filename, entry.file_size) for entry in archive.infolist() if not entry.is_dir()
            ]
        return tuple(sorted(found, key=lambda member: member.name))

    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        with files.opened(self.path) as file, zipfile.ZipFile(file) as archive:
            for member in members:
                yield archive.read(member.name)


@final
@dataclass(frozen=True)
class Tar(Container):
    """Members of a tar archive. The published checksum of a gzipped tar must be verified first."""

    path: Path
    is_gzipped: bool = False

    def members(self) -> tuple[ArchiveMember, ...]:
        found: dict[str, ArchiveMember] = {}
        with self._opened() as stream:
            for member in self._listed(stream):
                if member.name in found:
                    raise DataError(f"{self.path} contains {member.name} twice. Fetch the official file.")
                found[member.name] = member
        return tuple(found[name] for name in sorted(found))

    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        with self._opened() as stream:
            for member in members:
                if member.num_bytes > MAX_MEMBER_BYTES:
                    raise _too_large(self.named(member), member.num_bytes, MAX_MEMBER_BYTES)
                stream.seek(member.offset)
                content = stream.read(member.num_bytes)
                if len(content) != member.num_bytes:
                    raise ValueError(f"{member.name} ends {member.num_bytes - len(content)} bytes too soon")
                yield content

    def _listed(self, stream: io.BufferedIOBase) -> Iterator[ArchiveMember]:
        with tarfile.TarFile(fileobj=cast(IO[bytes], _TarHeaders(stream)), encoding="utf-8") as archive:
            last = -1
            while (entry := archive.next()) is not None:
                # TarFile stores all entries that were read, at a kilobyte each.
                archive.members.clear()  # type: ignore[attr-defined]
                if entry.offset <= last or entry.size < 0:
                    raise ValueError(f"the header at byte {entry.offset} points backwards")
                last = entry.offset
                name = self._checked_name(entry)
                if entry.isreg():
                    yield ArchiveMember(name, entry.size, entry.offset_data)
            stream.seek(archive.offset)
            # The tarfile module stops at a damaged header without an error.
            if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise ValueError(f"neither a header nor the end mark is at byte {archive.offset}")

    def _checked_name(self, entry: tarfile.TarInfo) -> str:
        """Normalizes the name of an entry. Raises an error for links and for paths outside of the archive."""
        parts = PurePosixPath(entry.name).parts
        odd = entry.name.startswith("/") or "\\" in entry.name or ".." in parts or not entry.name.isprintable()
        if odd or not (entry.isdir() or (entry.isreg() and not entry.issparse())):
            expected = "a relative path inside the archive" if odd else "a file or a folder"
            raise DataError(f"{self.path} contains {entry.name!a}; expected {expected}. Fetch the official file.")
        return "/".join(parts)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[io.BufferedIOBase]:
        try:
            with files.opened(self.path) as file:
                yield gzip.GzipFile(fileobj=file) if self.is_gzipped else file
        except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, RecursionError) as error:
            raise DataError(
                f"{self.path} is not a readable tar archive ({error}). Fetch the damaged or truncated file again."
            ) from error


class _TarHeaders:
    """Stream of a tar that limits the size of headers, because `tarfile` reads headers of any size."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self.tell, self.seek, self._stream = stream.tell, stream.seek, stream

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _MAX_TAR_HEADER_BYTES:
            raise ValueError(f"the header at byte {self.tell()} has {size} bytes")
        return self._stream.read(size)


def read_bounded(path: Path, most: int = MAX_MEMBER_BYTES) -> bytes:
    """Reads a file. Raises an error if the file is unreadable or larger than `most` bytes."""
    try:
        with files.opened(path) as stream:
            if (num_bytes := os.fstat(stream.fileno()).st_size) > most:
                raise _too_large(path, num_bytes, most)
            return cast(bytes, stream.read(num_bytes))
    except OSError as error:
        raise _unreadable(path, error) from None


def read_unzipped(path: Path, most: int) -> bytes:
    """Reads at most `most` bytes of a file, and decompresses a file whose name ends in .gz."""
    try:
        with files.opened(path) as file:
            return (gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else cast(IO[bytes], file)).read(most)
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}). Fetch the damaged or truncated file again.") from error


def _too_large(what: Path | str, num_bytes: int, most: int) -> DataError:
    return DataError(f"{what} has {num_bytes:,} bytes; expected at most {most:,}. Fetch the official file.")


def _unreadable(place: Path | str, error: OSError) -> DataError:
    return DataError(f"{place} cannot be read ({error.strerror or error}). Make the file readable.")


def _raise(error: OSError) -> None:
    raise error
