"""Whether a file is the one that its owner published: by the checksum that is published, or else by that of the first
file that was seen.
"""

import datetime
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import final

from unbraid import files
from unbraid.data import progress
from unbraid.data.fetching.publication import PublishedFile
from unbraid.errors import DataError

log = logging.getLogger(__name__)

_BYTES_A_BLOCK = 2**22
_LABELS = {"md5": "md5", "sha256": "SHA-256"}


def check_file(path: Path, published: PublishedFile) -> str:
    """Refuse a file that is not the published one; else say what it was compared with, for instance "md5 as published
    by its owner".

    Where nobody publishes a checksum, that of the first file is recorded, and the log says so.
    """
    record_path = _record_of(path)
    try:
        expected = expected_checksum(published, record_path)
        flaw = file_flaw(path, published, expected)
        if flaw is None:
            return record(path, published, record_path) if expected is None else expected.phrase
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error}). Make it a file that you may read, or get it again."
        ) from error
    raise DataError(f"{path} {flaw}. {_advice(published, record_path)}")


@final
@dataclass(frozen=True)
class ExpectedChecksum:
    """What a file must hash to, and in `phrase` who says so."""

    algorithm: str
    digest: str
    phrase: str


def expected_checksum(published: PublishedFile, record_path: Path) -> ExpectedChecksum | None:
    """The checksum that the owner published, or else the one on record; None where there is neither."""
    if published.checksum is not None:
        algorithm, _, digest = published.checksum.partition(":")
        source = f" by {published.checksum_source}" if published.checksum_source else ""
        return ExpectedChecksum(algorithm, digest.lower(), f"{_LABELS[algorithm]} as published{source}")
    if not record_path.exists():
        return None
    try:
        content = files.read_json(record_path)
        occasion = "at the first fetch" if content["url"] else "when it was first seen"
        return ExpectedChecksum(
            "sha256", str(content["sha256"]), f"SHA-256 as recorded {occasion} on {str(content['recorded'])[:10]}"
        )
    except (OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{record_path} is not a readable record of a checksum. Delete it to have the checksum recorded again."
        ) from None


def file_flaw(path: Path, published: PublishedFile, expected: ExpectedChecksum | None) -> str | None:
    """What is wrong with the file, or None."""
    if published.num_bytes is not None and (found := path.stat().st_size) != published.num_bytes:
        return f"has {found:,} bytes; expected {published.num_bytes:,}, as published"
    if expected is not None and (digest := _digest(path, expected.algorithm, published.name)) != expected.digest:
        return f"has the {_LABELS[expected.algorithm]} {digest}; expected {expected.digest}, the {expected.phrase}"
    return None


def record(path: Path, published: PublishedFile, record_path: Path) -> str:
    """Write the checksum of the file down; what to say of it. A cache that cannot be written to must not keep anyone
    from reading.
    """
    content = {
        "name": published.name,
        "url": published.url,
        "num_bytes": path.stat().st_size,
        "sha256": _digest(path, "sha256", published.name),
        "recorded": datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds"),
    }
    unpublished = f"No checksum is published for {published.name}"
    try:
        files.write_json(record_path, content)
    except OSError as error:
        log.warning(
            "%s, and none can be recorded in %s (%s): it goes unverified.",
            unpublished,
            record_path,
            error.strerror or error,
        )
        return f"unverified, for no checksum is published and none can be recorded in {record_path}"
    log.warning(
        "%s. Its SHA-256, %s, is recorded in %s; from now on the file is compared with that.",
        unpublished,
        content["sha256"],
        record_path,
    )
    return "SHA-256 recorded now, for none is published"


def record_beside(path: Path) -> Path:
    """Where a fetch records the checksum of a file that it puts at `path`."""
    return path.with_name(f"{path.name}.sha256.json")


def _record_of(path: Path) -> Path:
    """Beside a file that was fetched; in the cache for a file of the user's, whose folder is not ours to write to."""
    beside, cache = record_beside(path), Path(files.absolute(str(files.cache_folder())))
    place = files.absolute(str(path))
    if beside.exists() or Path(place).is_relative_to(cache):
        return beside
    # Files of the same name in two folders may be different files.
    return cache / "files" / "seen" / f"{hashlib.sha256(place.encode()).hexdigest()[:16]}-{beside.name}"


def _digest(path: Path, algorithm: str, name: str) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    total, done = path.stat().st_size, 0
    with files.opened(path) as stream:
        while block := stream.read(_BYTES_A_BLOCK):
            digest.update(block)
            done += len(block)
            progress.advance(f"verifying {name}", done, total, "bytes")
    return digest.hexdigest()


def _advice(published: PublishedFile, record_path: Path) -> str:
    if published.checksum is None and record_path.exists():
        return (
            f"Get it again; or, if it was changed on purpose (by you, or by its owner), delete {record_path} to have "
            "the new one recorded."
        )
    return "It is damaged, or not the file that was published: delete it and get it again."
