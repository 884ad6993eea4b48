"""Download of published files, by one process at a time. Only complete, verified files get their final name."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from unbraid._internal import files
from unbraid.datasets.fetching.download import Download
from unbraid.datasets.fetching.verification import (
    Publication,
    check_file,
    expected_checksum,
    file_flaw,
    record,
    record_of,
)
from unbraid.errors import DataError, RunError

log = logging.getLogger(__name__)


def fetched_folder(publication: Publication) -> Path:
    """Returns the default download folder of a publication."""
    return Path(files.absolute(str(files.cache_folder() / "files" / publication.subfolders[0])))


def fetch(publication: Publication, folder: Path | None = None) -> tuple[Path, ...]:
    """Downloads the missing files of a publication to `folder`, verifies all files, and returns their paths.

    Files without a URL must be downloaded manually. The error for such a missing file contains the instructions.
    """
    folder = fetched_folder(publication) if folder is None else Path(files.absolute(str(folder)))
    for published in publication.files:
        if published.url is not None:
            advice = f"Try again later, or download {published.name} manually (see {publication.homepage}) to {folder}."
            _fetch_file(Download(published, published.url, folder, advice))
    by_hand = [published for published in publication.files if published.url is None]
    if missing := [published.name for published in by_hand if not (folder / published.name).exists()]:
        way = publication.how_to_get or f"There is no direct download; see {publication.homepage}"
        raise DataError(f"{publication.title}: {way.rstrip('. ')}. Save {' and '.join(missing)} in {folder}.")
    for published in by_hand:
        log.info("%s is there: %s.", folder / published.name, check_file(folder / published.name, published))
    return tuple(folder / published.name for published in publication.files)


def _fetch_file(download: Download) -> None:
    path = download.folder / download.published.name
    try:
        # Checked before locking, so that complete files in a read-only folder can be used.
        if not path.exists():
            with _locked(download):
                # Another process may have fetched the file while this process waited for the lock.
                if not path.exists():
                    _receive(download, path)
                    return
    except OSError as error:
        raise DataError(
            f"{path.name} cannot be written to {download.folder} ({error.strerror or error}). Free disk space, or set "
            "UNBRAID_CACHE to a writable folder with enough space, and fetch again."
        ) from error
    log.info("%s is there: %s.", path, check_file(path, download.published))


@contextlib.contextmanager
def _locked(download: Download) -> Iterator[None]:
    lock, purpose = download.folder / f".{download.published.name}.lock", f"fetching {download.published.name}"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(files.locked(lock, wait=False, purpose=purpose))
        except RunError:
            log.info("Waiting for another process, which is %s.", purpose)
            stack.enter_context(files.locked(lock, wait=True, purpose=purpose))
        yield


def _receive(download: Download, path: Path) -> None:
    published = download.published
    log.info("Fetching %s from %s into %s.", published.name, download.url, download.folder)
    expected = expected_checksum(path, published)
    resumed = download.receive_all()
    flaw = file_flaw(download.part, published, expected)
    if flaw is not None and resumed:
        # The parts of a resumed download may belong to different versions. Download the file again.
        log.warning("%s %s. Fetching the file again.", published.name, flaw)
        download.discard()
        download.receive_all()
        flaw = file_flaw(download.part, published, expected)
    if flaw is not None:
        download.discard()
        advice = download.advice
        if published.checksum is None and (seen := record_of(path)).exists():
            advice = f"If the owner published a new version, delete {seen} and fetch again."
        raise DataError(
            f"{published.name}, fetched from {download.url}, {flaw}. The downloaded bytes were removed. {advice}"
        )
    # The record is written first, so that a downloaded file always has a record.
    verified = record(download.part, published, path) if expected is None else expected.phrase
    files.put_in_place(download.part, path)
    download.forget()
    log.info("Fetched %s: %s.", path, verified)
