"""Asking a web server for a file, and whether asking again would help.

Only http and https are used. There are two errors: `Dropped`, which another try may fix, and `Refused`, which it will
not.
"""

import contextlib
import http.client
import ssl
import string
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence

from unbraid._internal.version import __version__

MAX_REDIRECTS = 10

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
# Too slow, too early, too many: the same request may do later. So may every error of the server itself, 500 and
# above.
_PASSING = frozenset({408, 425, 429})
_BYTES_PER_READ = 2**17


class Dropped(Exception):  # noqa: N818 - not an error yet: what became of a connection
    """Raised when a connection ended too soon. Another may do better, after `wait` seconds if the server said so."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


class Refused(Exception):  # noqa: N818 - as above
    """Raised for an answer that asking again will not change."""


@contextlib.contextmanager
def opened(url: str, headers: Mapping[str, str], seconds_per_read: float) -> Iterator[http.client.HTTPResponse]:
    """Opens the answer to a request, after redirects, whatever its status. No operation on the connection may take
    longer than `seconds_per_read`.
    """
    visited = [url]
    while True:
        with _ask(visited[-1], headers, seconds_per_read) as response:
            if response.status not in _REDIRECTS:
                yield response
                return
            if (location := response.headers.get("Location")) is None:
                raise Refused(f"the server answered {_status(response)} and did not say where to")
        visited.append(redirect_target(visited, location))


def redirect_target(visited: Sequence[str], location: str) -> str:
    """Returns the address that a redirect leads to, from the last of those visited; one that must not be followed is
    refused.
    """
    try:
        # As browsers do it: the header may hold bytes that an address may not.
        target = urllib.parse.urljoin(
            visited[-1], urllib.parse.quote(location, safe=string.punctuation, encoding="latin-1")
        )
    except ValueError as error:
        raise Refused(f"it is redirected to {location!r}, which is not an address ({error})") from error
    if _scheme(visited[-1]) == "https" and _scheme(target) == "http":
        raise Refused(f"it is redirected from https to {target}, where anyone on the way could change the file")
    if target in visited:
        raise Refused(f"its redirects go round in a loop, back to {target}")
    if len(visited) > MAX_REDIRECTS:
        raise Refused(f"it is redirected more than {MAX_REDIRECTS} times")
    return target


def read(response: http.client.HTTPResponse) -> bytes:
    """Returns what has come in, a byte or more; nothing at the end."""
    try:
        # Not read(), which waits until all that was asked for is there, however slowly it comes.
        return response.read1(_BYTES_PER_READ)
    except (OSError, http.client.HTTPException) as error:
        raise Dropped(f"the connection broke ({error})") from error


def unwanted(response: http.client.HTTPResponse) -> Dropped | Refused:
    """Returns what to raise at an answer that does not bring the file."""
    said = f"the server answered {_status(response)}"
    if response.status in _PASSING or response.status >= 500:
        asked = response.headers.get("Retry-After", "")
        return Dropped(said, float(asked) if asked.isascii() and asked.isdigit() else 0.0)
    return Refused(said)


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _status(response: http.client.HTTPResponse) -> str:
    return f"{response.status} {response.reason}".rstrip()


def _ask(url: str, headers: Mapping[str, str], seconds_per_read: float) -> http.client.HTTPResponse:
    if _scheme(url) not in ("http", "https"):
        raise Refused(f"it leads to {url}; only http and https are asked")
    # Not urllib's usual opener, which would read file: and ftp: addresses too, and follow redirects without asking us.
    opener = urllib.request.OpenerDirector()
    for handler in (urllib.request.ProxyHandler(), urllib.request.HTTPHandler(), urllib.request.HTTPSHandler()):
        opener.add_handler(handler)
    # Identity: ranges and lengths are those of the file, not of something packed for the way.
    sent = {"User-Agent": f"unbraid/{__version__}", "Accept-Encoding": "identity", **headers}
    try:
        response: http.client.HTTPResponse = opener.open(
            urllib.request.Request(url, headers=sent), timeout=seconds_per_read
        )
    except ValueError as error:
        raise Refused(f"{url} cannot be asked for ({error})") from error
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise Refused(f"the certificate of the server is not to be trusted ({reason})") from error
        raise Dropped(f"the server did not answer ({reason})") from error
    return response
