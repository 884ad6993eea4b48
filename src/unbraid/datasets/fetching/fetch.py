"""Fetches published files: one process at a time, verified, and in place only when complete."""

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from unbraid._internal import files
from unbraid.datasets.fetching.download import RETRY_POLICY, Download, RetryPolicy
from unbraid.datasets.fetching.verification import (
    Publication,
    PublishedFile,
    check_file,
    expected_checksum,
    file_flaw,
    record,
    record_of,
)
from unbraid.errors import DataError, RunError

log = logging.getLogger(__name__)


def fetched_folder(publication: Publication) -> Path:
    """Returns where a fetch puts the files, unless told otherwise."""
    return Path(files.absolute(str(files.cache_folder() / "files" / publication.subfolders[0])))


def fetch(
    publication: Publication, folder: Path | None = None, *, policy: RetryPolicy = RETRY_POLICY
) -> tuple[Path, ...]:
    """Returns the files of the publication, in `folder`: downloaded where they are not there yet, verified where they
    are.

    A file without an address has to be put there by hand; while it is missing, the error explains how to get it and
    where to put it.
    """
    folder = fetched_folder(publication) if folder is None else Path(files.absolute(str(folder)))
    for published in publication.files:
        if published.url is not None:
            advice = (
                f"Try again later, or get {published.name} by hand (see {publication.homepage}) and put it into "
                f"{folder}."
            )
            _Fetch(published, Download(published, published.url, folder, advice, policy)).run()
    by_hand = [published for published in publication.files if published.url is None]
    if missing := [published.name for published in by_hand if not _is_there(folder / published.name)]:
        way = publication.how_to_get or f"There is no direct download; see {publication.homepage}"
        raise DataError(f"{publication.title}: {way.rstrip('. ')}. Put {' and '.join(missing)} into {folder}.")
    for published in by_hand:
        _check_present(folder / published.name, published)
    return tuple(folder / published.name for published in publication.files)


@final
@dataclass(frozen=True)
class _Fetch:
    """Brings one file from its address to its place."""

    published: PublishedFile
    download: Download

    @property
    def path(self) -> Path:
        return self.download.folder / self.published.name

    def run(self) -> None:
        # Looked for before the lock is taken: a folder that cannot be written to can still be read.
        if not _is_there(self.path):
            try:
                with self._alone():
                    # Another process that held the lock may have fetched it.
                    if not _is_there(self.path):
                        return self._fetch()
            except OSError as error:
                raise DataError(
                    f"{self.published.name} cannot be written to {self.download.folder} ({error.strerror or error}). "
                    "Make room there, or set "
                    "UNBRAID_CACHE to a folder that you may write to and that has the room, and fetch again."
                ) from error
        return _check_present(self.path, self.published)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        lock, purpose = self.download.folder / f".{self.published.name}.lock", f"fetching {self.published.name}"
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(files.locked(lock, wait=False, purpose=purpose))
            except RunError:
                log.info("Another process is %s. Waiting for it.", purpose)
                stack.enter_context(files.locked(lock, wait=True, purpose=purpose))
            yield

    def _fetch(self) -> None:
        published, download = self.published, self.download
        log.info("Fetching %s from %s into %s.", published.name, download.url, download.folder)
        expected = expected_checksum(self.path, published)
        resumed = download.receive_all()
        flaw = file_flaw(download.part, published, expected)
        if flaw is not None and resumed:
            # Perhaps what came first and what came later do not belong together: one more time, from the start.
            log.warning("%s %s. Fetching it anew.", published.name, flaw)
            download.discard()
            download.receive_all()
            flaw = file_flaw(download.part, published, expected)
        if flaw is not None:
            download.discard()
            raise DataError(
                f"{published.name}, fetched from {download.url}, {flaw}. What came was removed. {self._advice()}"
            )
        # The record comes first: where such a file is, its record is.
        verified = record(download.part, published, self.path) if expected is None else expected.phrase
        files.put_in_place(download.part, self.path)
        download.forget()
        log.info("Fetched %s: %s.", self.path, verified)

    def _advice(self) -> str:
        if self.published.checksum is None and (seen := record_of(self.path)).exists():
            return f"If its owner published a new version, delete {seen} and fetch again."
        return self.download.advice


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise DataError(
            f"{path} cannot be looked for ({error.strerror or error}). Set UNBRAID_CACHE to a folder that you may read."
        ) from error


def _check_present(path: Path, published: PublishedFile) -> None:
    log.info("%s is there: %s.", path, check_file(path, published))
