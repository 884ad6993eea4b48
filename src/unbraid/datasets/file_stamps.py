"""Stamps of files: whether a file has changed since it was last read, without reading it."""

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from unbraid._internal import files
from unbraid.errors import DataError

# Below this a full checksum costs a few hundredths of a second, and is computed at each opening.
ALWAYS_VERIFIED_BYTES = 32 * 2**20
# Some file systems note the time of a write in steps of two seconds.
_COARSEST_STEP_NS = 2 * 10**9


def stamp(path: Path) -> list[int]:
    """Returns what changes when the file is written, another takes its place, or one is added to the folder. The file
    is not read.
    """
    return stamp_of(path.stat())


def stamp_of(about: os.stat_result) -> list[int]:
    """Returns the stamp of what the system says this of."""
    return [0 if stat.S_ISDIR(about.st_mode) else about.st_size, about.st_mtime_ns, about.st_ino, about.st_dev]


def is_settled(modified_ns: int) -> bool:
    """Returns whether a file was written long enough ago that its time will differ when it is written again."""
    return abs(time.time_ns() - modified_ns) > _COARSEST_STEP_NS


def check_unchanged(paths: Sequence[Path], before: Sequence[list[int]]) -> None:
    """Refuses files that were written or exchanged since these stamps were taken."""
    for path, then in zip(paths, before, strict=True):
        if not path.exists() or stamp(path) != then:
            raise DataError(f"{path} was changed while it was read. Leave it alone, and start again.")


def known_sha256(path: Path, *, anew: bool = False) -> str:
    """Returns the SHA-256 of the file. Where it is large, and as it was when the checksum was last taken, that one is
    given, unless it must be taken `anew`.
    """
    then, is_large = stamp(path), path.stat().st_size > ALWAYS_VERIFIED_BYTES
    known = recalled("checksum", str(path)) if is_large and not anew else None
    if known is not None and known.get("stamp") == then and isinstance(known.get("of_file"), str):
        return str(known["of_file"])
    found = files.sha256(path)
    if is_large and is_settled(then[1]) and stamp(path) == then:
        remember({"stamp": then, "of_file": found}, "checksum", str(path))
    return found


def remember(content: dict[str, Any], *key: Any) -> None:
    """Keeps in the cache what was found out about something. A cache that cannot be written to remembers nothing."""
    with contextlib.suppress(OSError):
        files.write_sealed(_memory(key), content)


def recalled(*key: Any) -> dict[str, Any] | None:
    """Returns what was remembered last under this key, whether or not it still holds."""
    try:
        return files.read_sealed(_memory(key))
    except (OSError, ValueError):
        return None


def _memory(key: tuple[Any, ...]) -> Path:
    return files.cache_folder() / "known" / f"{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.json"
