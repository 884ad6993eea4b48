"""Files under names, in a folder or in an archive that is read where it lies. Nothing is ever unpacked on disk.

`Zip` and a gzipped `Tar` are for archives whose published checksum was compared first. A folder and a plain `Tar` may
be anybody's: sizes are compared with their bounds before anything is read, and what is neither a file nor a folder is
refused.
"""

import contextlib
import gzip
import io
import os
import stat
import tarfile
import zipfile
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
    """Is one file of a folder or an archive: its name, with `/` between folders, its size, and where a tar keeps it."""

    name: str
    num_bytes: int
    offset: int = 0


class Container(ABC):
    """A folder or an archive, opened again for each call."""

    path: Path

    @abstractmethod
    def members(self) -> tuple[ArchiveMember, ...]:
        """Returns all files in it, by name. Folders are not among them."""

    @abstractmethod
    def named(self, member: ArchiveMember) -> str:
        """Returns what to call the file in a message."""

    @abstractmethod
    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        """Yields what these files hold, in the order given. A gzipped tar is read once if they come by `offset`, and
        otherwise again for each step back.
        """


@final
@dataclass(frozen=True)
class Folder(Container):
    """Holds the files in a folder and in the folders inside it."""

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
            _check_size(self.named(member), member, self.max_member_bytes)
            try:
                with files.opened(place) as stream:
                    content = stream.read(member.num_bytes + 1)
            except OSError as error:
                raise _unreadable(place, error) from None
            if len(content) != member.num_bytes:
                raise DataError(
                    f"{place} had {member.num_bytes} bytes and now has others. Leave the folder alone while it is read."
                )
            yield content


@final
@dataclass(frozen=True)
class Zip(Container):
    """Holds the members of a zip that is known to be the published one."""

    path: Path

    def members(self) -> tuple[ArchiveMember, ...]:
        with files.opened(self.path) as file, zipfile.ZipFile(file) as archive:
            found = [
                ArchiveMember(entry.filename, entry.file_size) for entry in archive.infolist() if not entry.is_dir()
            ]
        return tuple(sorted(found, key=lambda member: member.name))

    def named(self, member: ArchiveMember) -> str:
        return f"{member.name} in {self.path}"

    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        with files.opened(self.path) as file, zipfile.ZipFile(file) as archive:
            for member in members:
                yield archive.read(member.name)


@final
@dataclass(frozen=True)
class Tar(Container):
    """Holds the members of a tar: any tar, or the published one if it `is_gzipped`, because a small gzipped file may
    unpack to a very large one.
    """

    path: Path
    is_gzipped: bool = False

    def members(self) -> tuple[ArchiveMember, ...]:
        found: dict[str, ArchiveMember] = {}
        with self._opened() as stream:
            for member in self._listed(stream):
                if member.name in found:
                    raise DataError(f"{self.path} holds {member.name} twice. Fetch the official file.")
                found[member.name] = member
        return tuple(found[name] for name in sorted(found))

    def named(self, member: ArchiveMember) -> str:
        return f"{member.name} in {self.path}"

    def contents(self, members: Iterable[ArchiveMember]) -> Iterator[bytes]:
        with self._opened() as stream:
            for member in members:
                _check_size(self.named(member), member, MAX_MEMBER_BYTES)
                stream.seek(member.offset)
                content = stream.read(member.num_bytes)
                if len(content) != member.num_bytes:
                    raise ValueError(f"{member.name} ends {member.num_bytes - len(content)} bytes too soon")
                yield content

    def _listed(self, stream: io.BufferedIOBase) -> Iterator[ArchiveMember]:
        with tarfile.TarFile(fileobj=cast(IO[bytes], _TarHeaders(stream)), encoding="utf-8") as archive:
            last = -1
            while (entry := archive.next()) is not None:
                # It keeps all it has seen, a kilobyte each.
                archive.members.clear()  # type: ignore[attr-defined]
                if entry.offset <= last or entry.size < 0:
                    raise ValueError(f"the header at byte {entry.offset} leads back")
                last = entry.offset
                name = self._checked_name(entry)
                if entry.isreg():
                    yield ArchiveMember(name, entry.size, entry.offset_data)
            stream.seek(archive.offset)
            # At a damaged header the module stops without a word, as at the end.
            if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
                raise ValueError(f"neither a header nor the mark of the end is at byte {archive.offset}")

    def _checked_name(self, entry: tarfile.TarInfo) -> str:
        """Returns the name without `./` and doubled slashes. Nothing is written under it, but an archive that names
        places elsewhere, or holds links, is not what it says it is.
        """
        parts = PurePosixPath(entry.name).parts
        odd = entry.name.startswith("/") or "\\" in entry.name or ".." in parts or not entry.name.isprintable()
        if odd or not (entry.isdir() or (entry.isreg() and not entry.issparse())):
            what = "is not a plain name below the top of the archive" if odd else "is neither a file nor a folder"
            raise DataError(f"{self.path} holds {entry.name!a}, which {what}. Fetch the official file.")
        return "/".join(parts)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[io.BufferedIOBase]:
        try:
            with files.opened(self.path) as file:
                yield gzip.GzipFile(fileobj=file) if self.is_gzipped else file
        except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, RecursionError) as error:
            raise DataError(
                f"{self.path} is not a readable tar archive ({error}). It is damaged or cut short: fetch it again."
            ) from error


class _TarHeaders:
    """The stream of a tar as `tarfile` sees it, which asks for a header of any size that the file promises."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self.tell, self.seek, self._stream = stream.tell, stream.seek, stream

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _MAX_TAR_HEADER_BYTES:
            raise ValueError(f"a header of {size} bytes is promised at byte {self.tell()}")
        return self._stream.read(size)


def _check_size(what: str, member: ArchiveMember, most: int) -> None:
    if member.num_bytes > most:
        raise DataError(f"{what} takes {member.num_bytes:,} bytes; at most {most:,} are read. Fetch the official file.")


def _unreadable(place: Path | str, error: OSError) -> DataError:
    return DataError(f"{place} cannot be read ({error.strerror}). Check that it is there and is yours to read.")


def _raise(error: OSError) -> None:
    raise error
