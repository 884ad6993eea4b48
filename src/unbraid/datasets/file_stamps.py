"""Stamps (size, modification time, inode, device) and checksums of files, and cache files named by their checksum."""

import contextlib
import hashlib
import io
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast, final

from unbraid._internal import files
from unbraid.errors import DataError, SpecError

# Maximum size of files whose checksum is computed at each opening, which takes a few hundredths of a second.
ALWAYS_VERIFIED_BYTES = 32 * 2**20
# Some file systems store modification times in steps of two seconds.
_COARSEST_STEP_NS = 2 * 10**9


def stamp(path: Path) -> list[int]:
    """Returns the stamp of a file or folder, which changes if the file is written or replaced, or a file is added."""
    return stamp_of(path.stat())


def stamp_of(about: os.stat_result) -> list[int]:
    """Returns the size (0 for a folder), modification time, inode and device."""
    return [0 if stat.S_ISDIR(about.st_mode) else about.st_size, about.st_mtime_ns, about.st_ino, about.st_dev]


def is_settled(modified_ns: int) -> bool:
    """Returns whether the modification time is old enough for any later write to change the stamp."""
    return abs(time.time_ns() - modified_ns) > _COARSEST_STEP_NS


def check_unchanged(paths: Sequence[Path], before: Sequence[list[int]]) -> None:
    """Raises an error if a file was written or replaced since these stamps were taken."""
    for path, then in zip(paths, before, strict=True):
        if not path.exists() or stamp(path) != then:
            raise DataError(f"{path} was changed while it was read. Leave the file unchanged, and start again.")


def known_sha256(path: Path, *, anew: bool = False) -> str:
    """Returns the SHA-256 of a file, from the cache for a large file with an unchanged stamp unless `anew`."""
    then, is_large = stamp(path), path.stat().st_size > ALWAYS_VERIFIED_BYTES
    known = (recalled("checksum", str(path)) or {}) if is_large and not anew else {}
    if known.get("stamp") == then:
        return str(known["of_file"])
    found = files.sha256(path)
    if is_large and is_settled(then[1]) and stamp(path) == then:
        remember({"stamp": then, "of_file": found}, "checksum", str(path))
    return found


def check_sha256(given: str, owner: str) -> None:
    """Checks that the field `sha256` of a config is empty or a checksum."""
    if given and not re.fullmatch("[0-9a-f]{64}", given):
        raise SpecError(f"{owner}: sha256 is {given!r}; expected 64 lower-case hexadecimal digits. Correct or omit it.")


def check_expected(path: Path, found: str, expected: str) -> None:
    """Raises an error if the SHA-256 of a file differs from the expected SHA-256. Accepts any file if this is empty."""
    if expected and found != expected:
        raise DataError(
            f"{path} has SHA-256 {found}; the config expects {expected}. Restore the changed file, or create a new "
            "config."
        )


def sha256_or_empty(given: str, path: Path, owner: str) -> str:
    """Returns the `sha256` given in a config, else the checksum of the file, or "" if the file cannot be read."""
    check_sha256(given, owner)
    try:
        return given or (known_sha256(path) if path.is_file() else "")
    except OSError:
        return ""


def keep(write: Callable[[IO[bytes]], None], folder: str, suffix: str) -> tuple[str, str]:
    """Writes a cache file named by its checksum, so that equal content is stored once. Returns its path and SHA-256.

    `write` is called twice: first to compute the checksum, then to write the file.
    """
    hashed = _HashedStream(None)
    write(cast(IO[bytes], hashed))
    path = files.cache_folder() / folder / f"{hashed.sha256}{suffix}"
    with writing_to_cache(path):
        if not path.is_file() or files.sha256(path) != hashed.sha256:
            with files.atomic_writer(path) as stream:
                write(cast(IO[bytes], _HashedStream(stream)))
    return str(path), hashed.sha256


@final
class _HashedStream(io.RawIOBase):
    """Write-only stream that computes the SHA-256 of the written bytes and forwards the bytes to `stream`, if given.

    Seeking is not supported, because overwriting an earlier byte would make the checksum wrong.
    """

    def __init__(self, stream: IO[bytes] | None) -> None:
        super().__init__()
        self._stream = stream
        self._digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, content: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        self._digest.update(content)
        if self._stream is not None:
            self._stream.write(content)
        return len(content)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


@contextlib.contextmanager
def writing_to_cache(path: Path) -> Iterator[None]:
    """Converts a failed write in the block to a DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}). Set UNBRAID_CACHE to a writable "
            "folder with enough free space."
        ) from error


def remember(content: dict[str, Any], *key: Any) -> None:
    """Stores a result in the cache under this key, if the cache is writable."""
    with contextlib.suppress(OSError):
        files.write_sealed(_memory(key), content)


def recalled(*key: Any) -> dict[str, Any] | None:
    """Reads the last result stored under this key, without checking that the result is still valid."""
    return read_sealed(_memory(key))


def read_sealed(path: Path) -> dict[str, Any] | None:
    """Reads a record with a checksum. Returns None if the record is missing or was changed."""
    try:
        return files.read_sealed(path)
    except (OSError, ValueError):
        return None


def _memory(key: tuple[Any, ...]) -> Path:
    return files.cache_folder() / "known" / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.json"
