"""Files under names, in a folder or in an archive that is read where it lies. Nothing is ever unpacked on disk.

So nothing can escape a folder; names that would try to, links and devices are refused all the same, because an archive
that holds one is not what it says it is. A size is compared with its bound before anything is read, so that a small
archive cannot fill the memory.
"""

import contextlib
import gzip
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Protocol, cast, final, runtime_checkable

from unbraid import files
from unbraid.errors import DataError

MAX_MEMBER_BYTES = 2**30
_MAX_MEMBERS = 2**22
# Deflate cannot do better than 1032; pictures, arrays and text that are worth keeping stay far below this.
_MAX_RATIO = 200
_BYTES_OF_ANY_RATIO = 2**20
_MAX_TAR_HEADER_BYTES = 2**20
_PIECE_BYTES = 2**20
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_GZIP_MAGIC = b"\x1f\x8b"
_IS_ENCRYPTED = 1
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    LookupError,
    RuntimeError,  # NotImplementedError and RecursionError among them
)


@final
@dataclass(frozen=True, slots=True)
class Member:
    """One file of a folder or an archive: its name, with `/` between folders, and its size.

    The rest says where an archive keeps it. `crc32` and `is_deflated` are a zip's; `offset` is where its header is, or,
    in a tar, its content.
    """

    name: str
    num_bytes: int
    offset: int = 0
    packed_bytes: int = 0
    crc32: int | None = None
    is_deflated: bool = False


@runtime_checkable
class _Stream(Protocol):
    """What is asked of the bytes of an archive."""

    def tell(self) -> int: ...

    def read(self, size: int, /) -> bytes: ...

    def seek(self, position: int, /) -> int: ...


class Container(ABC):
    """A folder or an archive. Small, and safe to hand to another process: it is opened anew for each question."""

    path: Path

    @abstractmethod
    def members(self) -> tuple[Member, ...]:
        """All files in it, by name. Folders are not among them; what is neither is refused."""

    @abstractmethod
    def named(self, member: Member) -> str:
        """What to call the file in a message."""

    @abstractmethod
    def contents(self, members: Iterable[Member]) -> Iterator[bytes]:
        """What these files hold, in the order given. A gzipped tar is read once if they come by `offset`; otherwise
        again for each step back.
        """


def container(path: Path) -> Container:
    """The folder, zip, tar or gzipped tar at this path; an archive is known by its content, not its name."""
    return Folder(path) if path.is_dir() else Archive(path)


@final
@dataclass(frozen=True)
class Folder(Container):
    """The files in a folder and in the folders inside it."""

    path: Path
    max_member_bytes: int = MAX_MEMBER_BYTES

    def members(self) -> tuple[Member, ...]:
        found = []
        try:
            for folder, subfolders, names in os.walk(self.path, onerror=_raise):
                subfolders.sort()
                for name in names:
                    place = Path(folder, name)
                    about = place.stat()
                    if stat.S_ISREG(about.st_mode):
                        found.append(Member(place.relative_to(self.path).as_posix(), about.st_size))
        except OSError as error:
            raise DataError(
                f"{error.filename or self.path} cannot be read ({error.strerror}). Check that it is there and is "
                "yours to read."
            ) from None
        return tuple(sorted(found, key=lambda member: member.name))

    def named(self, member: Member) -> str:
        return str(self.path / member.name)

    def contents(self, members: Iterable[Member]) -> Iterator[bytes]:
        for member in members:
            place = self.path / member.name
            _check_size(self.named(member), member, self.max_member_bytes)
            try:
                with files.opened(place) as stream:
                    content = stream.read(member.num_bytes + 1)
            except OSError as error:
                raise DataError(
                    f"{place} cannot be read ({error.strerror}). Check that it is there and is yours to read."
                ) from None
            if len(content) != member.num_bytes:
                raise DataError(
                    f"{place} had {member.num_bytes} bytes and now has others. Leave the folder alone while it is read."
                )
            yield content


@final
@dataclass(frozen=True)
class Archive(Container):
    """The members of a zip, a tar or a gzipped tar."""

    path: Path
    max_member_bytes: int = MAX_MEMBER_BYTES

    def members(self) -> tuple[Member, ...]:
        found: dict[str, Member] = {}
        with self._opened() as (stream, is_zip):
            for member in _zip_members(self.path, stream) if is_zip else _tar_members(self.path, stream):
                if member.name in found:
                    raise DataError(
                        f"{self.path} holds {member.name} twice, and which is meant nobody can say. Fetch the "
                        "official file."
                    )
                found[member.name] = member
                if len(found) > _MAX_MEMBERS:
                    raise DataError(
                        f"{self.path} holds more than {_MAX_MEMBERS:,} files, more than any data set here. Fetch the "
                        "official file."
                    )
        return tuple(found[name] for name in sorted(found))

    def named(self, member: Member) -> str:
        return f"{member.name} in {self.path}"

    @property
    def is_gzipped(self) -> bool:
        """Whether a step back means to read all of it again."""
        with self._opened() as (stream, _):
            return isinstance(stream, _Inflated)

    def contents(self, members: Iterable[Member]) -> Iterator[bytes]:
        with self._opened() as (stream, is_zip):
            for member in members:
                _check_size(self.named(member), member, self.max_member_bytes)
                try:
                    content = _zip_content(stream, member) if is_zip else _tar_content(stream, member)
                except _DAMAGE as error:
                    raise DataError(
                        f"{self.named(member)} cannot be read ({error}). The archive is damaged or cut short: fetch "
                        "it again."
                    ) from error
                yield content

    @contextlib.contextmanager
    def _opened(self) -> Iterator[tuple[_Stream, bool]]:
        """The bytes of the archive, a gzipped one's as they were before, and whether it is a zip."""
        try:
            with files.opened(self.path) as file:
                magic = file.read(4)
                file.seek(0)
                if magic.startswith(_GZIP_MAGIC):
                    with gzip.GzipFile(fileobj=file) as inflated:
                        yield _Inflated(inflated, file), False
                else:
                    yield file, magic in _ZIP_MAGICS
        except FileNotFoundError:
            raise DataError(f"There is no file {self.path}. Check the path, or fetch the file.") from None
        except _DAMAGE as error:
            raise DataError(
                f"{self.path} is not a readable zip or tar archive ({error}). It is damaged or cut short: fetch it "
                "again."
            ) from error


class _Inflated:
    """What a gzipped file was before, forwards. Refused as soon as it has become far more than any honest file
    would.
    """

    def __init__(self, inflated: gzip.GzipFile, packed: IO[bytes]) -> None:
        self._inflated, self._packed = inflated, packed

    def tell(self) -> int:
        return self._inflated.tell()

    def read(self, size: int) -> bytes:
        content = self._inflated.read(size)
        if self.tell() > _MAX_RATIO * self._packed.tell() + _BYTES_OF_ANY_RATIO:
            raise ValueError(f"it grows to more than {_MAX_RATIO} times its size when unpacked")
        return content

    def seek(self, position: int) -> int:
        if position < self.tell():
            self._inflated.seek(position)
        while (missing := position - self.tell()) > 0 and self.read(min(missing, _PIECE_BYTES)):
            pass
        return self.tell()


class _TarHeaders:
    """The stream of a tar as `tarfile` sees it, which asks for a header of any size that the file promises."""

    def __init__(self, stream: _Stream) -> None:
        self.tell, self.seek, self._stream = stream.tell, stream.seek, stream

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _MAX_TAR_HEADER_BYTES:
            raise ValueError(f"a header of {size} bytes is promised at byte {self.tell()}")
        return self._stream.read(size)


def _zip_members(path: Path, stream: _Stream) -> Iterator[Member]:
    with zipfile.ZipFile(cast(IO[bytes], stream)) as archive:
        entries = archive.infolist()
    # Bombs let many members share the same packed bytes.
    if sum(entry.compress_size for entry in entries) > path.stat().st_size:
        raise ValueError("its members take more bytes than it has")
    for entry in entries:
        name = _safe_name(path, entry.filename)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise DataError(_odd(path, name, "is a link or a device"))
        if entry.flag_bits & _IS_ENCRYPTED:
            raise DataError(_odd(path, name, "is encrypted"))
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(
                _odd(path, name, f"is packed by method {entry.compress_type}; only stored and deflated ones are read")
            )
        if not entry.is_dir():
            is_deflated = entry.compress_type == zipfile.ZIP_DEFLATED
            yield Member(name, entry.file_size, entry.header_offset, entry.compress_size, entry.CRC, is_deflated)


def _tar_members(path: Path, stream: _Stream) -> Iterator[Member]:
    with tarfile.TarFile(fileobj=cast(IO[bytes], _TarHeaders(stream)), encoding="utf-8") as archive:
        last = -1
        while (entry := archive.next()) is not None:
            # It keeps all it has seen, a kilobyte each.
            archive.members.clear()  # type: ignore[attr-defined]
            if entry.offset <= last or entry.size < 0:
                raise ValueError(f"the header at byte {entry.offset} leads back")
            last = entry.offset
            name = _safe_name(path, entry.name)
            if not entry.isdir() and (not entry.isreg() or entry.issparse()):
                raise DataError(_odd(path, name, "is a link, a device or a sparse file"))
            if entry.isreg():
                yield Member(name, entry.size, entry.offset_data, entry.size)
        stream.seek(archive.offset)
        # At a damaged header the module stops without a word, as at the end.
        if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
            raise ValueError(f"neither a header nor the mark of the end is at byte {archive.offset}")
    # At its end a gzipped file has a checksum, which is then compared.
    while isinstance(stream, _Inflated) and stream.read(_PIECE_BYTES):
        pass


def _zip_content(stream: _Stream, member: Member) -> bytes:
    stream.seek(member.offset)
    magic, name_length, extra_length = struct.unpack("<4s22xHH", stream.read(30))
    if magic != _ZIP_MAGICS[0]:
        raise ValueError(f"no file begins at byte {member.offset}")
    stream.seek(stream.tell() + name_length + extra_length)
    content = _exactly(stream, member.packed_bytes)
    if member.is_deflated:
        content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, member.num_bytes + 1)
    if len(content) != member.num_bytes or zlib.crc32(content) != member.crc32:
        raise ValueError("its content is not what the checksum says")
    return content


def _tar_content(stream: _Stream, member: Member) -> bytes:
    stream.seek(member.offset)
    return _exactly(stream, member.num_bytes)


def _exactly(stream: _Stream, num_bytes: int) -> bytes:
    """In pieces: a read of many bytes takes their memory before it knows whether they are there."""
    pieces, missing = [], num_bytes
    while missing > 0:
        if not (piece := stream.read(min(missing, _PIECE_BYTES))):
            raise ValueError(f"{missing} of its {num_bytes} bytes are missing")
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def _check_size(what: str, member: Member, most: int) -> None:
    if max(member.num_bytes, member.packed_bytes) > most:
        raise DataError(
            f"{what} takes {max(member.num_bytes, member.packed_bytes):,} bytes; at most {most:,} are read. Fetch the "
            "official file."
        )
    if member.is_deflated and member.num_bytes > _MAX_RATIO * member.packed_bytes + _BYTES_OF_ANY_RATIO:
        raise DataError(
            f"{what} grows to more than {_MAX_RATIO} times its size when unpacked, as bombs do. Fetch the official "
            "file."
        )


def _safe_name(path: Path, name: str) -> str:
    """The name, which stays below the top of the archive, without `./` and doubled or trailing slashes."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or "\\" in name or name[1:2] == ":" or ".." in parts or not name.isprintable():
        raise DataError(_odd(path, ascii(name), "is not a plain name below the top of the archive"))
    return "/".join(parts)


def _odd(path: Path, name: str, what: str) -> str:
    return f"{path} holds {name}, which {what}. No official archive does: fetch the official file."


def _raise(error: OSError) -> None:
    raise error
