"""One file coming in, over as many connections as it takes.

While it comes in it is `<name>.part`, and `<name>.part.json` keeps what the server said of it, so that a later try, or
a later process, resumes where this one stopped. Nothing else reads a part.
"""

import errno
import http.client
import logging
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

from unbraid._internal import files
from unbraid._internal.progress import Event, emit
from unbraid.datasets.fetching import web
from unbraid.datasets.fetching.verification import PublishedFile
from unbraid.errors import DataError

log = logging.getLogger(__name__)

MAX_WAIT_SECONDS = 60.0


@final
@dataclass(frozen=True)
class RetryPolicy:
    """Says what a download puts up with: `num_tries` connections in a row that bring next to nothing, and how slow one
    may be.

    `sleep` and `clock` are those of the system, unless a test has its own.
    """

    num_tries: int = 6
    seconds_per_read: float = 30.0
    slowest_bytes_per_second: float = 1024.0
    window_seconds: float = 30.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic

    @property
    def worthwhile_bytes(self) -> float:
        """Returns what must have come for the count of tries to start again. Not a single byte: a file in single bytes
        would never end.
        """
        return self.slowest_bytes_per_second * self.window_seconds


RETRY_POLICY = RetryPolicy()


@final
@dataclass(frozen=True)
class Download:
    """Is one published file on its way to `<name>.part` in the folder. `advice` is what an error says to do."""

    published: PublishedFile
    url: str
    folder: Path
    advice: str
    policy: RetryPolicy = RETRY_POLICY

    @property
    def part(self) -> Path:
        return self.folder / f"{self.published.name}.part"

    @property
    def num_bytes(self) -> int:
        """Returns how much of it is here."""
        return self.part.stat().st_size if self.part.exists() else 0

    def receive_all(self) -> bool:
        """Receives every byte of the part. Returns whether they came over more than one connection."""
        failures, mark, resumed = 0, self.num_bytes, False
        while True:
            resumed = resumed or self.num_bytes > 0
            try:
                self._receive()
                return resumed
            except web.Refused as refused:
                raise DataError(
                    f"{self.published.name} could not be fetched from {self.url}: {refused}. {self.advice}"
                ) from refused
            except web.Dropped as dropped:
                if self.num_bytes - mark >= self.policy.worthwhile_bytes:
                    failures, mark = 0, self.num_bytes
                failures += 1
                if failures >= self.policy.num_tries:
                    raise DataError(
                        f"{self.published.name} could not be fetched from {self.url}: {dropped}, at the last of "
                        f"{failures} tries. "
                        f"{self.num_bytes:,} bytes are kept, for a later try to go on from. {self.advice}"
                    ) from dropped
                wait = min(max(dropped.wait, 2.0 ** (failures - 1)), MAX_WAIT_SECONDS)
                log.info(
                    "%s: %s. Trying again in %g s, from byte %s.",
                    self.published.name,
                    dropped,
                    wait,
                    f"{self.num_bytes:,}",
                )
                self.policy.sleep(wait)

    def discard(self) -> None:
        """Forgets what came, so that the next try starts anew."""
        # The part first: a record of a part that is gone does no harm.
        self.part.unlink(missing_ok=True)
        self.forget()

    def forget(self) -> None:
        """Removes the record of the part, which is complete and in place."""
        self._about.unlink(missing_ok=True)

    @property
    def _about(self) -> Path:
        return self.folder / f"{self.published.name}.part.json"

    def _receive(self) -> None:
        """Asks for what is missing, over one connection, and adds what comes to the part."""
        begun, start = self._begun(), self.num_bytes
        if begun is not None and begun.num_bytes == start:
            return
        headers = {} if begun is None else begun.headers(start)
        with web.opened(self.url, headers, self.policy.seconds_per_read) as response:
            if response.status == 200:
                self._append(response, self._begin(response))
            elif begun is not None and response.status == 206:
                self._append(response, self._continue(response, begun, start))
            elif begun is not None and response.status == 416:
                self._check_whole(response, begun, start)
            else:
                raise web.unwanted(response)

    def _begun(self) -> "_Remote | None":
        """Returns the record of the part. A part that cannot be resumed is removed."""
        begun, size = _read_remote(self._about), self.num_bytes
        if (
            size > 0
            and begun is not None
            and begun.url == self.url
            and (begun.num_bytes is None or size <= begun.num_bytes)
            # Without either, nothing would tell if the rest belonged to another version of the file.
            and (begun.validator or self.published.checksum)
        ):
            return begun
        self.discard()
        return None

    def _begin(self, response: http.client.HTTPResponse) -> int | None:
        """Starts anew with what the server sends. Returns how many bytes that is, if it is known."""
        self.discard()
        promised, published = response.length, self.published.num_bytes
        if promised is not None and published is not None and promised != published:
            kind = response.headers.get_content_type()
            raise web.Refused(f"the server sends {promised:,} bytes ({kind}); expected {published:,}, as published")
        if promised is None and published is None and self.published.checksum is None and not response.chunked:
            raise web.Refused("the server does not state its length, without which a truncated file cannot be detected")
        total = published if promised is None else promised
        remote = _Remote(self.url, total, response.headers.get("ETag"), response.headers.get("Last-Modified"))
        files.write_sealed(self._about, asdict(remote))
        return total

    def _continue(self, response: http.client.HTTPResponse, begun: "_Remote", start: int) -> int | None:
        """Checks that the server resumes the same file where the part ends. Returns how many bytes the whole has, if
        that is known.
        """
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
        total = int(found[2]) if found and found[2] != "*" else begun.num_bytes
        # Not every server knows If-Range.
        same = all(
            (now := response.headers.get(name)) is None or now == then
            for name, then in (("ETag", begun.etag), ("Last-Modified", begun.last_modified))
        )
        if not found or int(found[1]) != start or not same or begun.num_bytes not in (None, total):
            self.discard()
            raise web.Dropped("the server sent another file than before")
        return total

    def _check_whole(self, response: http.client.HTTPResponse, begun: "_Remote", start: int) -> None:
        """Checks that the part is all, where the server has nothing after it; else the file has changed."""
        total = re.fullmatch(r"bytes \*/(\d+)", response.headers.get("Content-Range", "").strip())
        if begun.num_bytes is not None or not total or int(total[1]) != start:
            self.discard()
            raise web.Dropped(f"the server has no byte {start:,} of it any more")

    def _append(self, response: http.client.HTTPResponse, total: int | None) -> None:
        done = self.num_bytes
        if total is not None and (free := shutil.disk_usage(self.folder).free) < total - done:
            raise OSError(errno.ENOSPC, f"{total - done:,} bytes are still to come and {free:,} are free")
        pace = Pace(self.policy, done)
        with files.opened(self.part, "ab") as stream:
            while (total is None or done <= total) and (chunk := web.read(response)):
                stream.write(chunk)
                done += len(chunk)
                emit(Event(f"downloading {self.published.name}", done, total or 0, "bytes"))
                if done != total:
                    pace.check(done)
        if total is not None and done < total:
            raise web.Dropped(f"the connection ended after {done:,} of {total:,} bytes")
        if total is not None and done > total:
            self.discard()
            raise web.Refused(f"the server sends {done:,} bytes or more; expected {total:,}")


@final
@dataclass(frozen=True)
class _Remote:
    """Holds what the server said of a file when its part was begun."""

    url: str
    num_bytes: int | None
    etag: str | None
    last_modified: str | None

    @property
    def validator(self) -> str | None:
        """Returns what tells this version of the file from others, byte for byte. A weak ETag does not: it promises the
        same meaning.
        """
        return self.etag if self.etag and not self.etag.startswith("W/") else self.last_modified

    def headers(self, start: int) -> dict[str, str]:
        """Returns what asks for the rest of this version, or all of another."""
        condition = {"If-Range": self.validator} if self.validator else {}
        return {"Range": f"bytes={start}-"} | condition


def _read_remote(path: Path) -> _Remote | None:
    """Returns the record of a part, or None if there is none that was written here."""
    try:
        return _Remote(**files.read_sealed(path))
    except (OSError, ValueError, TypeError):
        return None


@final
class Pace:
    """Measures how fast a connection is, window by window: a fast beginning does not excuse a trickle after it."""

    def __init__(self, policy: RetryPolicy, done: int) -> None:
        self._patience = policy
        self._since, self._mark = policy.clock(), done

    def check(self, done: int) -> None:
        now, policy = self._patience.clock(), self._patience
        if (elapsed := now - self._since) < policy.window_seconds:
            return
        if done - self._mark < policy.slowest_bytes_per_second * elapsed:
            raise web.Dropped(f"only {done - self._mark:,} bytes came in {elapsed:.0f} s")
        self._since, self._mark = now, done
