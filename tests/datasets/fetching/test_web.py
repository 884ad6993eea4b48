"""What a server answers, and whether asking again would help."""

import http.client
import socket
import ssl
import urllib.request

import pytest

from tests.datasets.flaky_server import Answer, FlakyServer
from unbraid._internal.version import __version__
from unbraid.datasets.fetching import download
from unbraid.datasets.fetching.download import Dropped, Redirects, Refused, opened, read, unwanted


def body(url, headers=None):
    with opened(url, headers or {}) as response:
        if response.status >= 300:
            raise unwanted(response)
        return b"".join(iter(lambda: read(response), b""))


def to(location, status=302):
    return Answer(status=status, headers={"Location": location})


def test_a_file_is_read_to_its_end():
    content = bytes(range(256)) * 2000
    with FlakyServer(content) as server:
        assert body(server.url) == content


def test_the_server_is_told_who_asks_and_to_pack_nothing():
    with FlakyServer(b"abc") as server:
        body(server.url)
    assert (
        server.asked[0].headers.items()
        >= {"User-Agent": f"unbraid/{__version__}", "Accept-Encoding": "identity"}.items()
    )


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_with_the_same_headers(status):
    with FlakyServer(b"abcdef", to("/elsewhere?x=1", status)) as server:
        assert body(server.url, {"Range": "bytes=4-"}) == b"ef"
        assert [asked.path for asked in server.asked] == ["/file.bin", "/elsewhere?x=1"]
        assert server.ranges == ["bytes=4-", "bytes=4-"]


def test_ten_redirects_are_followed_and_no_more():
    steps = [to(f"/{step}") for step in range(10)]
    with FlakyServer(b"abc", *steps) as server:
        assert body(server.url) == b"abc"
    with (
        FlakyServer(b"abc", *steps, to("/once-more")) as server,
        pytest.raises(Refused, match="infinite loop"),
    ):
        body(server.url)


def test_a_redirect_loop_is_refused_once_it_closes():
    with FlakyServer(b"abc", to("/a"), to("/b"), to("/a")) as server:
        with pytest.raises(Refused, match="infinite loop"):
            body(server.url)
        assert len(server.asked) == 3


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "FILE:///etc/passwd", "ftp://127.0.0.1/a", "data:,abc", "javascript:0"]
)
def test_nothing_but_http_and_https_is_followed(location):
    with (
        FlakyServer(b"abc", to(location)) as server,
        pytest.raises(Refused, match="not allowed|http or https"),
    ):
        body(server.url)


def test_nothing_but_http_and_https_is_asked():
    with pytest.raises(Refused, match="file:///etc/passwd"):
        body("file:///etc/passwd")


@pytest.mark.parametrize("location", ["http://example.org/b", "HTTP://example.org/b"])
def test_a_redirect_from_https_to_http_is_refused(location):
    request = urllib.request.Request("https://example.org/a")
    with pytest.raises(Refused, match="expected https"):
        Redirects().redirect_request(request, None, 302, "Found", {}, location)


def test_a_redirect_may_be_relative_and_oddly_spelled():
    with FlakyServer(b"abc", to("elsewhere"), to("/caf\xe9 1%20.zip")) as server:
        assert body(server.url) == b"abc"
        assert [asked.path for asked in server.asked] == ["/file.bin", "/elsewhere", "/caf%E9%201%20.zip"]


@pytest.mark.parametrize(
    "answer", [to("http://[1"), Answer(status=302), to("http://127.0.0.1:port/"), to("http://127.0.0.1:1/a b\x7f")]
)
def test_a_redirect_that_leads_nowhere_is_refused_or_dropped(answer):
    with FlakyServer(b"abc", answer) as server, pytest.raises((Refused, Dropped)):
        body(server.url)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, Refused) for status in (304, 400, 401, 403, 404, 410)),
        *((status, Dropped) for status in (408, 425, 429, 500, 502, 503, 504)),
    ],
)
def test_only_what_may_pass_is_worth_another_try(status, kind):
    with FlakyServer(b"abc", Answer(status=status)) as server, opened(server.url, {}) as response:
        found = unwanted(response)
    assert type(found) is kind
    assert str(found) == f"the server answered {status} {http.client.responses[status]}"


@pytest.mark.parametrize(
    ("asked", "wait"), [("17", 17.0), ("", 0.0), ("-1", 0.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("\u00b2", 0.0)]
)
def test_a_server_may_say_how_long_to_wait(asked, wait):
    answer = Answer(status=503, headers={"Retry-After": asked})
    with FlakyServer(b"abc", answer) as server, opened(server.url, {}) as response:
        found = unwanted(response)
    assert isinstance(found, Dropped)
    assert found.wait == wait


def test_a_server_that_is_not_there_may_come_back():
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        with pytest.raises(Dropped, match=r"answer \(.*[Cc]onnection refused"):
            body(f"http://127.0.0.1:{unheard.getsockname()[1]}/a")


def test_a_server_that_hangs_up_without_an_answer_may_do_better():
    with (
        FlakyServer(b"abc", Answer(hangs_up=True)) as server,
        pytest.raises(Dropped, match="server"),
    ):
        body(server.url)


def test_a_server_that_cannot_prove_who_it_is_is_refused(monkeypatch):
    def refuse(self):
        raise ssl.SSLCertVerificationError("certificate has expired")

    monkeypatch.setattr(http.client.HTTPSConnection, "connect", refuse)
    with pytest.raises(Refused, match="certificate has expired"):
        body("https://127.0.0.1/a")


def test_a_body_that_breaks_off_is_dropped():
    with (
        FlakyServer(bytes(5000), Answer(length="chunked", cut_after=2500)) as server,
        pytest.raises(Dropped, match="connection broke"),
    ):
        body(server.url)


def test_silence_is_dropped_after_the_time_a_read_may_take(monkeypatch):
    monkeypatch.setattr(download, "SECONDS_PER_READ", 0.3)
    with (
        FlakyServer(bytes(5000), Answer(cut_after=100, holds=True)) as server,
        pytest.raises(Dropped, match="timed out"),
    ):
        body(server.url)


def test_a_read_gives_what_has_come_and_does_not_wait_for_more():
    with (
        FlakyServer(bytes(5000), Answer(cut_after=100, holds=True)) as server,
        opened(server.url, {}) as response,
    ):
        assert read(response) == bytes(100)
