"""Resumable download of one file.

An incomplete download is the file `<name>.part`. `<name>.part.json` stores the headers of the server, so that a later
attempt or another process can resume the download. Only this module reads partial files.
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

NUM_TRIES = 6  # consecutive connections with almost no data
MAX_WAIT_SECONDS = 60.0
SECONDS_PER_READ = 30.0
SLOWEST_BYTES_PER_SECOND = 1024.0
WINDOW_SECONDS = 30.0
_BYTES_PER_READ = 2**17
# Request timeout, too early, too many requests: a later request may succeed, as for status codes from 500 on.
_TEMPORARY = frozenset({408, 425, 429})


class Dropped(Exception):  # noqa: N818 - not yet an error: another connection may succeed
    """Raised if a connection ended early. A retry may succeed, after `wait` seconds if the server requested a delay."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Refused(Exception):  # noqa: N818 - as above
    """Raised for a response for which a retry is useless."""


@final
@dataclass(frozen=True)
class Download:
    """Download of a published file to `<name>.part` in `folder`. Error messages end with `advice`."""

    published: PublishedFile
    url: str
    folder: Path
    advice: str

    @property
    def part(self) -> Path:
        return self.folder / f"{self.published.name}.part"

    @property
    def num_bytes(self) -> int:
        """Size of the partial file in bytes."""
        return self.part.stat().st_size if self.part.exists() else 0

    def receive_all(self) -> bool:
        """Downloads all missing bytes. Returns whether more than one connection was needed."""
        failures, mark, resumed = 0, self.num_bytes, False
        while True:
            resumed = resumed or self.num_bytes > 0
            try:
                self._receive()
                return resumed
            except Refused as refused:
                raise DataError(
                    f"Fetching {self.published.name} from {self.url} failed: {refused}. {self.advice}"
                ) from refused
            except Dropped as dropped:
                # Not reset after every byte, so that a download of single bytes ends.
                if self.num_bytes - mark >= SLOWEST_BYTES_PER_SECOND * WINDOW_SECONDS:
                    failures, mark = 0, self.num_bytes
                failures += 1
                if failures >= NUM_TRIES:
                    raise DataError(
                        f"Fetching {self.published.name} from {self.url} failed in {failures} attempts ({dropped}"
                        f"). The next attempt resumes after {self.num_bytes:,} bytes. {self.advice}"
                    ) from dropped
                wait = min(max(dropped.wait, 2.0 ** (failures - 1)), MAX_WAIT_SECONDS)
                name, done = self.published.name, f"{self.num_bytes:,}"
                log.info("%s: %s. Trying again in %g s, from byte %s.", name, dropped, wait, done)
                sleep(wait)

    def discard(self) -> None:
        """Removes the partial file and its record, so that the next attempt starts from the beginning."""
        # The partial file first: a record without a partial file is ignored.
        self.part.unlink(missing_ok=True)
        self.forget()

    def forget(self) -> None:
        """Removes the record of a complete download."""
        self._about.unlink(missing_ok=True)

    @property
    def _about(self) -> Path:
        return self.folder / f"{self.published.name}.part.json"

    def _receive(self) -> None:
        """Requests the missing bytes over one connection, and appends these bytes to the partial file."""
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
        """Returns the record of the partial file. Removes a partial file that cannot be resumed."""
        try:
            begun, size = _Remote(**files.read_sealed(self._about)), self.num_bytes
        except (OSError, ValueError, TypeError):
            begun, size = None, 0
        if (
            size > 0
            and begun is not None
            and begun.url == self.url
            and (begun.num_bytes is None or size <= begun.num_bytes)
            # Without these headers, a change of the file on the server could not be detected.
            and (begun.validator or self.published.checksum)
        ):
            return begun
        self.discard()
        return None

    def _begin(self, response: Any) -> int | None:
        """Starts a new partial file. Returns the size of the complete file in bytes, if known."""
        self.discard()
        promised, published = response.length, self.published.num_bytes
        if promised is not None and published is not None and promised != published:
            kind = response.headers.get_content_type()
            raise Refused(f"the server sends {promised:,} bytes ({kind}); expected {published:,}, as published")
        if promised is None and published is None and self.published.checksum is None and not response.chunked:
            raise Refused("the server sends no Content-Length; expected one, to detect a truncated file")
        total = published if promised is None else promised
        remote = _Remote(self.url, total, response.headers.get("ETag"), response.headers.get("Last-Modified"))
        files.write_sealed(self._about, asdict(remote))
        return total

    def _continue(self, response: Any, begun: "_Remote", start: int) -> int | None:
        """Checks that the server continues the same file after the partial file. Returns the file size, if known."""
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
        total = int(found[2]) if found and found[2] != "*" else begun.num_bytes
        # Not every server supports If-Range.
        same = all(
            (now := response.headers.get(name)) is None or now == then
            for name, then in (("ETag", begun.etag), ("Last-Modified", begun.last_modified))
        )
        if not found or int(found[1]) != start or not same or begun.num_bytes not in (None, total):
            self.discard()
            raise Dropped("the server sent another version of the file than before")
        return total

    def _check_whole(self, response: Any, begun: "_Remote", start: int) -> None:
        """Checks that the partial file is complete, after a response without bytes. If not, the file has changed."""
        total = re.fullmatch(r"bytes \*/(\d+)", response.headers.get("Content-Range", "").strip())
        if begun.num_bytes is not None or not total or int(total[1]) != start:
            self.discard()
            raise Dropped(f"the server has no byte {start:,} of the file any more")

    def _append(self, response: http.client.HTTPResponse, total: int | None) -> None:
        done = self.num_bytes
        if total is not None and (free := shutil.disk_usage(self.folder).free) < total - done:
            raise OSError(errno.ENOSPC, f"{total - done:,} bytes are missing and {free:,} bytes are free")
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
    """Response headers recorded at the start of a download."""

    url: str
    num_bytes: int | None
    etag: str | None
    last_modified: str | None

    @property
    def validator(self) -> str | None:
        """Header that identifies the version of the file, except a weak ETag, which does not guarantee equal bytes."""
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified

    def headers(self, start: int) -> dict[str, str]:
        """Returns request headers for the bytes from `start` on, or for the whole file if its version has changed."""
        condition = {"If-Range": self.validator} if self.validator else {}
        return {"Range": f"bytes={start}-"} | condition


@final
class Pace:
    """Measurement of connection speed in time windows, so that a fast start does not hide a later slowdown."""

    def __init__(self, done: int) -> None:
        self._since, self._mark = monotonic(), done

    def check(self, done: int) -> None:
        """Raises `Dropped` if too few bytes arrived in a window."""
        now = monotonic()
        if (elapsed := now - self._since) < WINDOW_SECONDS:
            return
        if done - self._mark < SLOWEST_BYTES_PER_SECOND * elapsed:
            raise Dropped(f"only {done - self._mark:,} bytes arrived in {elapsed:.0f} s")
        self._since, self._mark = now, done


class Redirects(urllib.request.HTTPRedirectHandler):
    """Handler of redirects: at most ten, without loops, only to http or https, and not from https to http."""

    max_repeats = 1

    def redirect_request(self, req: urllib.request.Request, *details: Any) -> urllib.request.Request | None:
        target = str(details[-1])
        if _scheme(target) == "http" and req.type == "https":
            raise Refused(f"the server redirects from https to {target}; expected https")
        return super().redirect_request(req, *details)


@contextlib.contextmanager
def opened(url: str, headers: Mapping[str, str]) -> Iterator[Any]:
    """Requests a URL and yields the response after redirects, with any status."""
    _scheme(url)  # raises for other schemes than http and https
    # Not urllib's default opener, which also reads file: and ftp: URLs.
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
    # Identity: ranges and lengths refer to the file, not to a compressed version.
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
    """Returns the available bytes: at least one, or none at the end of the response."""
    try:
        # Not read(), which waits for all requested bytes, even from a very slow server.
        return response.read1(_BYTES_PER_READ)
    except (OSError, http.client.HTTPException) as error:
        raise Dropped(f"the connection broke ({error})") from error


def unwanted(response: Any) -> Dropped | Refused:
    """Returns the exception for an unsuccessful response."""
    answer = f"the server answered {response.status} {response.reason}".rstrip()
    if response.status in _TEMPORARY or response.status >= 500:
        wait = response.headers.get("Retry-After", "")
        return Dropped(answer, float(wait) if wait.isascii() and wait.isdigit() else 0.0)
    return Refused(answer)


def _scheme(url: str) -> str:
    if (scheme := url.partition(":")[0].lower()) not in ("http", "https"):
        raise Refused(f"the URL is {url}; expected http or https")
    return scheme
