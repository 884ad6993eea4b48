"""Where bytes came from: whether a file is the one that its owner published, and whether it has changed since.

A checksum that is published is what counts. Where none is, that of the first file that was seen is recorded under
`files/seen` in the cache, and counts from then on. Whether a file was written since it was last looked at is told by
its stamp; what was found out about it then is remembered under `known` in the cache, as long as the stamp stays.
"""

import contextlib
import datetime
import hashlib
import json
import logging
import os
import stat
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.datasets.publication import PublishedFile
from unbraid.errors import DataError

log = logging.getLogger(__name__)

# Below this a full checksum costs a few hundredths of a second, and is taken whenever it is asked for.
ALWAYS_VERIFIED_BYTES = 32 * 2**20
_BYTES_PER_BLOCK = 2**22
_LABELS = {"md5": "md5", "sha256": "SHA-256"}
# Some file systems note the time of a writing in steps of two seconds.
_COARSEST_STEP_NS = 2 * 10**9


# ---- is it the published file?


def check_file(path: Path, published: PublishedFile) -> str:
    """Refuses a file that is not the published one; else returns what it was compared with, for instance "md5 as
    published by its owner".

    Where no checksum is published, that of the first file is recorded and logged.
    """
    try:
        expected = expected_checksum(path, published)
        flaw = file_flaw(path, published, expected)
        if flaw is None:
            return record(path, published, path) if expected is None else expected.phrase
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error}). Make it a file that you may read, or get it again."
        ) from error
    if published.checksum is None and (seen := record_of(path)).exists():
        raise DataError(
            f"{path} {flaw}. Get it again; or, if it was changed on purpose (by you, or by its owner), delete {seen} "
            "to have the new one recorded."
        )
    raise DataError(f"{path} {flaw}. It is damaged, or not the file that was published: delete it and get it again.")


@final
@dataclass(frozen=True)
class ExpectedChecksum:
    """Checksum that a file must have, and in `phrase` where it was published."""

    algorithm: str
    digest: str
    phrase: str


def expected_checksum(path: Path, published: PublishedFile) -> ExpectedChecksum | None:
    """Returns the checksum that the owner published, or else the one on record for this path; None where there is
    neither.
    """
    if published.checksum is not None:
        algorithm, _, digest = published.checksum.partition(":")
        source = f" by {published.checksum_source}" if published.checksum_source else ""
        return ExpectedChecksum(algorithm, digest.lower(), f"{_LABELS[algorithm]} as published{source}")
    if not (seen := record_of(path)).exists():
        return None
    try:
        content = files.read_json(seen)
        occasion = "at the first fetch" if content["url"] else "when it was first seen"
        return ExpectedChecksum(
            "sha256", str(content["sha256"]), f"SHA-256 as recorded {occasion} on {str(content['recorded'])[:10]}"
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{seen} is not a readable record of a checksum. Delete it to have the checksum recorded again."
        ) from None


def file_flaw(path: Path, published: PublishedFile, expected: ExpectedChecksum | None) -> str | None:
    """Returns what is wrong with the file, or None."""
    if published.num_bytes is not None and (found := path.stat().st_size) != published.num_bytes:
        return f"has {found:,} bytes; expected {published.num_bytes:,}, as published"
    if expected is not None and (digest := _digest(path, expected.algorithm, published.name)) != expected.digest:
        return f"has the {_LABELS[expected.algorithm]} {digest}; expected {expected.digest}, the {expected.phrase}"
    return None


def record(found: Path, published: PublishedFile, path: Path) -> str:
    """Writes down the checksum of the file that was `found`, for the file that is or will be at `path`. Returns what to
    say of it. A cache that cannot be written to must not keep anyone from reading.
    """
    content = {
        "name": published.name,
        "url": published.url,
        "num_bytes": found.stat().st_size,
        "sha256": _digest(found, "sha256", published.name),
        "recorded": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
    }
    unpublished, seen = f"No checksum is published for {published.name}", record_of(path)
    try:
        files.write_json(seen, content)
    except OSError as error:
        log.warning(
            "%s, and none can be recorded in %s (%s): it goes unverified.", unpublished, seen, error.strerror or error
        )
        return f"unverified, for no checksum is published and none can be recorded in {seen}"
    log.warning(
        "%s. Its SHA-256, %s, is recorded in %s; from now on the file is compared with that.",
        unpublished,
        content["sha256"],
        seen,
    )
    return "SHA-256 recorded now, for none is published"


def record_of(path: Path) -> Path:
    """Returns where the checksum of the first file at this path is recorded, if none is published."""
    place = files.absolute(str(path))
    # Files of the same name in two folders may be different files.
    name = f"{hashlib.sha256(os.fsencode(place)).hexdigest()[:16]}-{path.name}.json"
    return Path(files.absolute(str(files.cache_folder()))) / "files" / "seen" / name


def _digest(path: Path, algorithm: str, name: str) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    total, done = path.stat().st_size, 0
    with files.opened(path) as stream:
        while block := stream.read(_BYTES_PER_BLOCK):
            digest.update(block)
            done += len(block)
            emit(Event(f"verifying {name}", done, total, "bytes"))
    return digest.hexdigest()


# ---- has it changed?


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
