"""Checksums of large files, taken once and remembered until the file is written again."""

import contextlib
import hashlib
import time
from pathlib import Path

from unbraid import files
from unbraid.data.bitmaps import ALWAYS_VERIFIED_BYTES

# Some file systems note the time of a writing in steps of two seconds.
_COARSEST_STEP_NS = 2 * 10**9


def known_sha256(path: Path, *, anew: bool = False) -> str:
    """The SHA-256 of the file. Where it is large, and as it was when the checksum was last taken, that one is given,
    unless it must be taken `anew`.
    """
    stamp, memory = _stamp(path), _memory(path)
    if not anew and stamp[0] > ALWAYS_VERIFIED_BYTES and (known := _recalled(memory, stamp)) is not None:
        return known
    found = files.sha256(path)
    if stamp[0] > ALWAYS_VERIFIED_BYTES and is_settled(stamp[1]) and _stamp(path) == stamp:
        with contextlib.suppress(OSError):  # a cache that cannot be written to remembers nothing
            files.write_sealed(memory, {"stamp": stamp, "of_file": found})
    return found


def is_settled(modified_ns: int) -> bool:
    """Whether a file was written long enough ago that its time will differ when it is written again."""
    return abs(time.time_ns() - modified_ns) > _COARSEST_STEP_NS


def _recalled(memory: Path, stamp: list[int]) -> str | None:
    try:
        content = files.read_sealed(memory)
        return str(content["of_file"]) if content["stamp"] == stamp else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _stamp(path: Path) -> list[int]:
    about = path.stat()
    return [about.st_size, about.st_mtime_ns, about.st_ino, about.st_dev]


def _memory(path: Path) -> Path:
    return (
        files.cache_folder()
        / "checksums"
        / f"{hashlib.sha256(str(path).encode(errors='surrogateescape')).hexdigest()[:16]}.json"
    )
