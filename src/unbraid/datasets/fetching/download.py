"""Resumable download of one file.

An incomplete download is `<name>.part`; `<name>.part.json` keeps the headers of the server, so that a later attempt or
process can resume. Only this module reads a part.
"""

import contextlib
import errno
import http.client
import logging
import re
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid._internal.version import __version__
from unbraid.datasets.fetching.verification import PublishedFile
from unbraid.errors import DataError

log = logging.getLogger(__name__)

NUM_TRIES = 6  # connections in a row that bring next to nothing
MAX_WAIT_SECONDS = 60.0
SECONDS_PER_READ = 30.0
SLOWEST_BYTES_PER_SECOND = 1024.0
WINDOW_SECONDS = 30.0
_BYTES_PER_READ = 2**17
# Request timeout, too early, too many requests: a later request may succeed, as after errors from 500 on.
_TEMPORARY = frozenset({408, 425, 429})


class Dropped(Exception):  # noqa: N818 - not yet an error: another connection may succeed
    """Raised if a connection ended early. A retry may succeed, after `wait` seconds if the server sent a number."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Refused(Exception):  # noqa: N818 - as above
    """Raised for a response that a retry will not change."""


@final
@dataclass(frozen=True)
class Download:
    """Download of one published file to `<name>.part` in the folder. Error messages end with `advice`."""

    published: PublishedFile
    url: str
    folder: Path
    advice: str

    @property
    def part(self) -> Path:
        return self.folder / f"{self.published.name}.part"

    @property
    def num_bytes(self) -> int:
        """Size of the part, in bytes."""
        return self.part.stat().st_size if self.part.exists() else 0

    def receive_all(self) -> bool:
        """Receives all bytes of the part. Returns whether more than one connection was needed."""
        failures, mark, resumed = 0, self.num_bytes, False
        while True:
            resumed = resumed or self.num_bytes > 0
            try:
                self._receive()
                return resumed
            except Refused as refused:
                raise DataError(
                    f"{self.published.name} could not be fetched from {self.url}: {refused}. {self.advice}"
                ) from refused
            except Dropped as dropped:
                # Not after every byte: a file that came in single bytes would never end.
                if self.num_bytes - mark >= SLOWEST_BYTES_PER_SECOND * WINDOW_SECONDS:
                    failures, mark = 0, self.num_bytes
                failures += 1
                if failures >= NUM_TRIES:
                    raise DataError(
                        f"{self.published.name} could not be fetched from {self.url}: {dropped}, at the last of "
                        f"{failures} tries. {self.num_bytes:,} bytes are kept, and a later try resumes from there. "
                        f"{self.advice}"
                    ) from dropped
                wait = min(max(dropped.wait, 2.0 ** (failures - 1)), MAX_WAIT_SECONDS)
                name, done = self.published.name, f"{self.num_bytes:,}"
                log.info("%s: %s. Trying again in %g s, from byte %s.", name, dropped, wait, done)
                sleep(wait)

    def discard(self) -> None:
        """Removes the part and its record, so that the next attempt starts from the beginning."""
        # The part first: a record without a part does no harm.
        self.part.unlink(missing_ok=True)
        self.forget()

    def forget(self) -> None:
        """Removes the record of a complete part."""
        self._about.unlink(missing_ok=True)

    @property
    def _about(self) -> Path:
        return self.folder / f"{self.published.name}.part.json"

    def _receive(self) -> None:
        """Requests the missing bytes over one connection, and appends them to the part."""
        begun, start = self._begun(), self.num_bytes
        if begun is not None and begun.num_bytes == start:
            return
        with opened(self.url, {} if begun is None else begun.headers(start)) as response:
            if response.status == 200:
                self._append(response, self._begin(response))
            elif begun is not None and response.status == 206:
                self._append(response, self._continue(response, begun, start))
            elif begun is not None and response.status == 416:
                self._check_whole(response, begun, start)
            else:
                raise unwanted(response)

    def _begun(self) -> "_Remote | None":
        """Returns the record of the part. A part that cannot be resumed is removed."""
        try:
            begun, size = _Remote(**files.read_sealed(self._about)), self.num_bytes
        except (OSError, ValueError, TypeError):
            begun, size = None, 0
        if (
            size > 0
            and begun is not None
            and begun.url == self.url
            and (begun.num_bytes is None or size <= begun.num_bytes)
            # Without either, a rest that belongs to another version of the file could not be detected.
            and (begun.validator or self.published.checksum)
        ):
            return begun
        self.discard()
        return None

    def _begin(self, response: Any) -> int | None:
        """Starts the part from the beginning. Returns the size of the file in bytes, if known."""
        self.discard()
        promised, published = response.length, self.published.num_bytes
        if promised is not None and published is not None and promised != published:
            kind = response.headers.get_content_type()
            raise Refused(f"the server sends {promised:,} bytes ({kind}); expected {published:,}, as published")
        if promised is None and published is None and self.published.checksum is None and not response.chunked:
            raise Refused("the server does not state its length, without which a truncated file cannot be detected")
        total = published if promised is None else promised
        remote = _Remote(self.url, total, response.headers.get("ETag"), response.headers.get("Last-Modified"))
        files.write_sealed(self._about, asdict(remote))
        return total

    def _continue(self, response: Any, begun: "_Remote", start: int) -> int | None:
        """Checks that the server resumes the same file at the end of the part. Returns the file size, if known."""
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
        total = int(found[2]) if found and found[2] != "*" else begun.num_bytes
        # Not every server supports If-Range.
        same = all(
            (now := response.headers.get(name)) is None or now == then
            for name, then in (("ETag", begun.etag), ("Last-Modified", begun.last_modified))
        )
        if not found or int(found[1]) != start or not same or begun.num_bytes not in (None, total):
            self.discard()
            raise Dropped("the server sent another file than before")
        return total

    def _check_whole(self, response: Any, begun: "_Remote", start: int) -> None:
        """Checks that the part is complete, after a response without further bytes. If not, the file has changed."""
        total = re.fullmatch(r"bytes \*/(\d+)", response.headers.get("Content-Range", "").strip())
        if begun.num_bytes is not None or not total or int(total[1]) != start:
            self.discard()
            raise Dropped(f"the server no longer has byte {start:,} of it")

    def _append(self, response: http.client.HTTPResponse, total: int | None) -> None:
        done = self.num_bytes
        if total is not None and (free := shutil.disk_usage(self.folder).free) < total - done:
            raise OSError(errno.ENOSPC, f"{total - done:,} bytes are still to come and {free:,} are free")
        pace = Pace(done)
        with files.opened(self.part, "ab") as stream:
            while (total is None or done <= total) and (chunk := read(response)):
                stream.write(chunk)
                done += len(chunk)
                emit(Event(f"downloading {self.published.name}", done, total or 0, "bytes"))
                if done != total:
                    pace.check(done)
        if total is not None and done < total:
            raise Dropped(f"the connection ended after {done:,} of {total:,} bytes")
        if total is not None and done > total:
            self.discard()
            raise Refused(f"the server sends {done:,} bytes or more; expected {total:,}")


@final
@dataclass(frozen=True)
class _Remote:
    """Response headers from the start of a part."""

    url: str
    num_bytes: int | None
    etag: str | None
    last_modified: str | None

    @property
    def validator(self) -> str | None:
        """Header that identifies this version of the file. A weak ETag does not guarantee equal bytes."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified

    def headers(self, start: int) -> dict[str, str]:
        """Returns the headers that request the rest of this version, or the whole file if the version has changed."""
        condition = {"If-Range": self.validator} if self.validator else {}
        return {"Range": f"bytes={start}-"} | condition


@final
class Pace:
    """Measures the speed of a connection in windows, so that a fast start does not hide a later slowdown."""

    def __init__(self, done: int) -> None:
        self._since, self._mark = monotonic(), done

    def check(self, done: int) -> None:
        """Raises `Dropped` if too few bytes arrived in a window."""
        now = monotonic()
        if (elapsed := now - self._since) < WINDOW_SECONDS:
            return
        if done - self._mark < SLOWEST_BYTES_PER_SECOND * elapsed:
            raise Dropped(f"only {done - self._mark:,} bytes came in {elapsed:.0f} s")
        self._since, self._mark = now, done


class Redirects(urllib.request.HTTPRedirectHandler):
    """Handler for up to ten redirects, without loops, to http and https, but not from https to http."""

    max_repeats = 1

    def redirect_request(self, req: urllib.request.Request, *details: Any) -> urllib.request.Request | None:
        target = str(details[-1])
        if _scheme(target) == "http" and req.type == "https":
            raise Refused(f"it is redirected from https to {target}, where anyone on the way could change the file")
        return super().redirect_request(req, *details)


@contextlib.contextmanager
def opened(url: str, headers: Mapping[str, str]) -> Iterator[Any]:
    """Opens the response to a request after redirects, whatever its status."""
    _scheme(url)  # raises for any but http and https
    # Not urllib's default opener, which reads file: and ftp: addresses too.
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        Redirects(),
    ):
        opener.add_handler(handler)
    # Identity: ranges and lengths are those of the file, not of a compressed one.
    sent = {"User-Agent": f"unbraid/{__version__}", "Accept-Encoding": "identity", **headers}
    try:
        response: Any = opener.open(urllib.request.Request(url, headers=sent), timeout=SECONDS_PER_READ)
    except urllib.error.HTTPError as error:
        response = error
    except ValueError as error:
        raise Refused(f"{url} cannot be requested ({error})") from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise Refused(f"the certificate of the server is not valid ({reason})") from error
        raise Dropped(f"the server did not answer ({reason})") from error
    with response:
        yield response


def read(response: http.client.HTTPResponse) -> bytes:
    """Returns the available bytes, at least one; empty at the end of the response."""
    try:
        # Not read(), which waits until all requested bytes are there, however slowly they come.
        return response.read1(_BYTES_PER_READ)
    except (OSError, http.client.HTTPException) as error:
        raise Dropped(f"the connection broke ({error})") from error


def unwanted(response: Any) -> Dropped | Refused:
    """Returns the exception for a response without the file."""
    answer = f"the server answered {response.status} {response.reason}".rstrip()
    if response.status in _TEMPORARY or response.status >= 500:
        wait = response.headers.get("Retry-After", "")
        return Dropped(answer, float(wait) if wait.isascii() and wait.isdigit() else 0.0)
    return Refused(answer)


def _scheme(url: str) -> str:
    if (scheme := url.partition(":")[0].lower()) not in ("http", "https"):
        raise Refused(f"it leads to {url}; expected http or https")
    return scheme
