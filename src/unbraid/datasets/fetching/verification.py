"""Published files of a dataset, their license, and their verification by checksum."""

import datetime
import hashlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import final

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.errors import DataError


@final
@dataclass(frozen=True)
class PublishedFile:
    """A published file.

    Args:
        name: The published file name.
        url: The URL; None if the owner allows no direct download.
        num_bytes: The published size, if any.
        checksum: "md5:..." or "sha256:...". If None, the SHA-256 of the first downloaded file is recorded, and later
            files must have the same SHA-256.
        checksum_source: The publisher of the checksum.
    """

    name: str
    url: str | None
    num_bytes: int | None = None
    checksum: str | None = None
    checksum_source: str = ""


def published_files(
    folder_url: str | None, checksum_source: str, named: Mapping[str, tuple[int, str]]
) -> tuple[PublishedFile, ...]:
    """Creates published files from (size, checksum) by name. Without `folder_url`, the files have no download URL."""
    return tuple(
        PublishedFile(name, folder_url and f"{folder_url}/{name}", num_bytes, checksum, checksum_source)
        for name, (num_bytes, checksum) in named.items()
    )


@final
@dataclass(frozen=True)
class Publication:
    """A published dataset.

    Args:
        title: The official title.
        homepage: The official web page.
        license: The name of the license.
        files: The published files.
        subfolders: Subfolders of the user's folder to search before the folder itself. Downloads are saved in the first
            subfolder.
        license_note: License conditions, shown before a download.
        how_to_get: Instructions for files without a URL.
    """

    title: str
    homepage: str
    license: str
    files: tuple[PublishedFile, ...]
    subfolders: tuple[str, ...]
    license_note: str = ""
    how_to_get: str = ""

    def file(self, name: str) -> PublishedFile | None:
        return next((file for file in self.files if file.name == name), None)


log = logging.getLogger(__name__)

_BYTES_PER_BLOCK = 2**22
_LABELS = {"md5": "md5", "sha256": "SHA-256"}


def check_file(path: Path, published: PublishedFile) -> str:
    """Verifies a file and returns a description such as "md5 as published by its owner".

    Raises an error if the file differs from the published file. If no checksum is published, the checksum of the first
    file is recorded and logged.
    """
    try:
        expected = expected_checksum(path, published)
        flaw = file_flaw(path, published, expected)
        if flaw is None:
            return record(path, published, path) if expected is None else expected.phrase
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error}). Make the file readable, or download it again."
        ) from error
    if published.checksum is None and (seen := record_of(path)).exists():
        raise DataError(
            f"{path} {flaw}. Download the file again; or, if you or the owner changed it on purpose, delete {seen} to "
            "record the new checksum."
        )
    raise DataError(f"{path} {flaw}. Delete the file, which is damaged or another version, and download it again.")


@final
@dataclass(frozen=True)
class ExpectedChecksum:
    """Expected checksum of a file. `phrase` describes the source of the checksum."""

    algorithm: str
    digest: str
    phrase: str


def expected_checksum(path: Path, published: PublishedFile) -> ExpectedChecksum | None:
    """Returns the published checksum of a file, else the recorded checksum for the path, else None."""
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
            f"{seen} is not a readable record of a checksum. Delete it to record the checksum again."
        ) from None


def file_flaw(path: Path, published: PublishedFile, expected: ExpectedChecksum | None) -> str | None:
    """Returns a description of the first difference from the published file, or None."""
    if published.num_bytes is not None and (found := path.stat().st_size) != published.num_bytes:
        return f"has {found:,} bytes; expected {published.num_bytes:,}, as published"
    if expected is not None and (digest := _digest(path, expected.algorithm, published.name)) != expected.digest:
        return f"has the {_LABELS[expected.algorithm]} {digest}; expected {expected.digest}, the {expected.phrase}"
    return None


def record(found: Path, published: PublishedFile, path: Path) -> str:
    """Records the checksum of the file `found` for its final location `path`. Returns a description of the record.

    If the cache is not writable, a warning is logged.
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
            "%s, and %s cannot be written (%s). The file is not verified.", unpublished, seen, error.strerror or error
        )
        return f"not verified: no checksum is published, and {seen} cannot be written"
    log.warning(
        "%s. The SHA-256 of the file, %s, is recorded in %s to verify the file in future.",
        unpublished,
        content["sha256"],
        seen,
    )
    return "SHA-256 recorded now, because no checksum is published"


def record_of(path: Path) -> Path:
    """Returns the path of the checksum record of a file. The record is used if no checksum is published."""
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
