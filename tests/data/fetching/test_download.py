"""A file comes in whole over bad connections, and what has come is not asked for twice."""

import hashlib
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.data.flaky_server import Answer, FlakyServer
from tests.told import told_to
from unbraid import files
from unbraid.data.fetching import web
from unbraid.data.fetching.download import MAX_WAIT_SECONDS, PATIENCE, Download, Pace, Patience
from unbraid.data.publication import PublishedFile
from unbraid.errors import DataError
from unbraid.events import listening

CONTENT = np.random.default_rng(5).bytes(200_000)
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"
PUBLISHED = PublishedFile("a.bin", None, checksum=MD5)
UNPUBLISHED = PublishedFile("a.bin", None)
YESTERDAY, TODAY = "Sat, 14 Nov 2026 09:00:00 GMT", "Sun, 15 Nov 2026 09:00:00 GMT"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def waits():
    """The seconds that the download would have waited."""
    return []


@pytest.fixture
def download(tmp_path, waits):
    """Makes a download from a server; it waits in no time."""

    def make(server, published=PUBLISHED, **patience):
        return Download(published, server.url, tmp_path, "Try again.", Patience(sleep=waits.append, **patience))

    return make


def cut(after, **answer):
    return Answer(cut_after=after, **answer)


# Going on


def test_a_good_connection_brings_all_at_once(download, waits):
    with FlakyServer(CONTENT) as server:
        coming = download(server)
        assert not coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert (server.ranges, server.served, waits) == ([None], [200_000], [])


def test_after_each_cut_only_the_rest_is_asked_for(download):
    with FlakyServer(CONTENT, cut(50_000), cut(70_000), cut(1)) as server:
        coming = download(server)
        assert coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=50000-", "bytes=120000-", "bytes=120001-"]
    assert server.conditions == [None, '"one"', '"one"', '"one"']
    assert server.served == [50_000, 70_000, 1, 79_999]


def test_a_later_process_goes_on_where_an_earlier_one_gave_up(download):
    with FlakyServer(CONTENT, cut(123_456)) as server:
        with pytest.raises(
            DataError,
            match=(
                r"a\.bin could not be .*ended after 123,456 of 200,000 bytes, at the last of 1 tries\. 123,456 bytes "
                r"are kept, .*Try again\."
            ),
        ):
            download(server, num_tries=1).receive_all()
        assert download(server).receive_all()
        assert download(server).part.read_bytes() == CONTENT
    assert server.served == [123_456, 200_000 - 123_456]


def test_a_part_that_is_whole_is_not_asked_for(download):
    with FlakyServer(CONTENT) as server:
        download(server).receive_all()
        assert download(server).receive_all()
    assert len(server.asked) == 1


@pytest.mark.parametrize("length", ["chunked", "until it closes"])
def test_a_file_of_unknown_length_is_gone_on_with_too(download, length):
    with FlakyServer(CONTENT, cut(50_000, length=length), always=Answer(length=length)) as server:
        coming = download(server, replace(PUBLISHED, num_bytes=200_000))
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.served == [50_000, 150_000]


def test_without_an_etag_the_date_tells_the_versions_apart(download):
    answer = Answer(etag=None, last_modified=TODAY)
    with FlakyServer(CONTENT, replace(answer, cut_after=50_000), always=answer) as server:
        download(server, UNPUBLISHED).receive_all()
    assert server.conditions == [None, TODAY]
    assert server.served == [50_000, 150_000]


def test_a_weak_etag_does_not_count(download):
    answer = Answer(etag='W/"one"', last_modified=TODAY)
    with FlakyServer(CONTENT, replace(answer, cut_after=50_000), always=answer) as server:
        download(server, UNPUBLISHED).receive_all()
    assert server.conditions == [None, TODAY]


def test_where_nothing_tells_the_versions_apart_but_a_checksum_does_the_part_is_gone_on_with(download):
    answer = Answer(etag=None)
    with FlakyServer(CONTENT, replace(answer, cut_after=50_000), always=answer) as server:
        download(server, PUBLISHED).receive_all()
    assert server.ranges == [None, "bytes=50000-"]
    assert server.conditions == [None, None]


def test_where_nothing_at_all_tells_the_versions_apart_the_file_is_begun_anew(download):
    answer = Answer(etag=None)
    with FlakyServer(CONTENT, replace(answer, cut_after=50_000), always=answer) as server:
        coming = download(server, UNPUBLISHED)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, None]


# Beginning anew

OTHER = CONTENT[::-1]


@pytest.mark.parametrize(
    ("first", "then", "served"),
    [
        pytest.param(Answer(knows_range=False), Answer(knows_range=False), [50_000, 200_000], id="without ranges"),
        pytest.param(Answer(content=OTHER), Answer(etag='"two"'), [50_000, 200_000], id="another version"),
        pytest.param(
            Answer(content=OTHER, etag=None, last_modified=YESTERDAY),
            Answer(etag=None, last_modified=TODAY),
            [50_000, 200_000],
            id="another version, by date",
        ),
        pytest.param(
            Answer(content=OTHER), Answer(etag='"two"', knows_if_range=False), [50_000, 150_000, 200_000],
            id="without If-Range",
        ),
        pytest.param(
            Answer(content=OTHER, etag=None, last_modified=YESTERDAY),
            Answer(etag=None, last_modified=TODAY, knows_if_range=False),
            [50_000, 150_000, 200_000],
            id="nor dates",
        ),
        pytest.param(
            Answer(content=OTHER + b"x"), Answer(knows_if_range=False), [50_000, 150_000, 200_000], id="another length"
        ),
        pytest.param(Answer(content=OTHER), Answer(content_range="bytes 49999-199999/200000"),
            [50_000, 150_000, 200_000], id="elsewhere",),
        pytest.param(Answer(), Answer(content_range="bytes"), [50_000, 150_000, 200_000], id="nonsense"),
    ],
)  # fmt: skip
def test_a_part_that_the_server_does_not_go_on_with_is_thrown_away(download, first, then, served):
    with FlakyServer(CONTENT, replace(first, cut_after=50_000), always=then) as server:
        coming = download(server)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.served == served


def test_a_file_that_has_become_shorter_is_begun_anew(download):
    with FlakyServer(CONTENT[:30_000], cut(50_000, content=OTHER), Answer(knows_if_range=False)) as server:
        coming = download(server, UNPUBLISHED)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT[:30_000]
    assert server.ranges == [None, "bytes=50000-", None]


def test_a_server_that_has_no_more_says_that_the_part_was_whole(download):
    """The length is unknown and the last chunk, the empty one, is lost."""
    with FlakyServer(CONTENT, Answer(length="chunked", content=CONTENT + b"x", cut_after=200_000)) as server:
        coming = download(server)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=200000-"]


def test_a_server_that_has_less_than_it_promised_is_not_believed(download):
    with FlakyServer(CONTENT, Answer(promised=200_001)) as server:
        coming = download(server, UNPUBLISHED)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=200000-", None]


@pytest.mark.parametrize("about", ["gone", "from elsewhere", "flipped", "", "{}", "[1]"])
def test_a_part_of_which_nothing_is_known_or_from_elsewhere_is_thrown_away(download, tmp_path, about):
    with FlakyServer(CONTENT, cut(50_000)) as server:
        coming = download(server, num_tries=1)
        with pytest.raises(DataError):
            coming.receive_all()
        record = tmp_path / "a.bin.part.json"
        known = {"url": server.url, "num_bytes": 200_000, "etag": '"one"', "last_modified": None}
        assert files.read_sealed(record) == known
        match about:
            case "gone":
                record.unlink()
            case "from elsewhere":
                files.write_sealed(record, known | {"url": "http://127.0.0.1/other"})
            case "flipped":
                record.write_text(record.read_text().replace("200000", "200001"))
            case _:
                record.write_text(about)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, None]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(download):
    with FlakyServer(CONTENT) as server:
        coming = download(server)
        coming.receive_all()
        with coming.part.open("ab") as stream:
            stream.write(b"more")
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, None]


def test_an_empty_file_comes_in_too(download):
    with FlakyServer(b"") as server:
        coming = download(server)
        coming.receive_all()
    assert coming.part.read_bytes() == b""


# Trying again


def test_an_error_of_the_server_may_pass(download, waits):
    with FlakyServer(CONTENT, Answer(status=500), Answer(status=503), Answer(hangs_up=True)) as server:
        coming = download(server)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert waits == [1.0, 2.0, 4.0]


def test_an_error_of_the_server_that_does_not_pass_is_told(download, waits):
    with FlakyServer(CONTENT, always=Answer(status=500)) as server:
        with pytest.raises(
            DataError,
            match=(
                r"a\.bin could not be fetched from http://.*: the server answered 500 .*, at the last of 6 tries\. 0 "
                r"bytes"
            ),
        ):
            download(server).receive_all()
        assert len(server.asked) == PATIENCE.num_tries
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize("status", [400, 403, 404, 410])
def test_what_the_server_will_not_give_is_asked_for_once(download, waits, status):
    with FlakyServer(CONTENT, always=Answer(status=status)) as server:
        with pytest.raises(
            DataError,
            match=rf"a\.bin could not be fetched from http://.*: the server answered {status} .*\. Try again\.",
        ):
            download(server).receive_all()
        assert len(server.asked) == 1
    assert waits == []


def test_a_server_says_how_long_to_wait_up_to_a_limit(download, waits):
    busy = [Answer(status=429, headers={"Retry-After": asked}) for asked in ("7", "100000", "0")]
    with FlakyServer(CONTENT, *busy) as server:
        download(server).receive_all()
    assert waits == [7.0, MAX_WAIT_SECONDS, 4.0]


def test_waits_grow_up_to_a_limit(download, waits):
    with FlakyServer(CONTENT, always=Answer(status=503)) as server, pytest.raises(DataError):
        download(server, num_tries=10).receive_all()
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def test_a_connection_that_brings_something_gives_the_next_as_many_tries(download, waits):
    """Nineteen cuts, where three in a row would be too many: each brings enough to count."""
    with FlakyServer(CONTENT, *[cut(10_000)] * 19) as server:
        coming = download(server, num_tries=3, slowest_bytes_per_second=100.0, window_seconds=100.0)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.served == [10_000] * 20
    assert waits == [1.0] * 19


def test_connections_that_bring_too_little_to_count_come_to_an_end(download):
    with FlakyServer(CONTENT, always=cut(10)) as server:
        with pytest.raises(
            DataError, match=r"ended after 60 of 200,000 bytes, at the last of 6 tries\. 60 bytes are kept"
        ):
            download(server).receive_all()
        assert server.served == [10] * PATIENCE.num_tries


@pytest.mark.parametrize(
    "answer",
    [
        cut(150_000, knows_range=False),
        cut(150_000, content_range="bytes 0-1/2"),
        Answer(promised=200_001, knows_range=False),
    ],
)
def test_getting_to_the_same_place_again_and_again_comes_to_an_end(download, answer):
    with (
        FlakyServer(CONTENT, always=answer) as server,
        pytest.raises(DataError, match=r"ended after|goes on with something else"),
    ):
        download(server).receive_all()
    assert len(server.asked) <= PATIENCE.num_tries + 1


def test_silence_is_not_waited_for(download):
    with FlakyServer(CONTENT, cut(50_000, holds=True)) as server:
        coming = download(server, seconds_per_read=0.3)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert len(server.asked) > 1


class Clock:
    """A clock on which a look takes `seconds`, and after so many looks no time at all."""

    def __init__(self, seconds, num_looks=1000):
        self.now, self.seconds, self.num_looks = 0.0, seconds, num_looks

    def __call__(self):
        self.num_looks -= 1
        self.now += self.seconds if self.num_looks >= 0 else 0.0
        return self.now


def test_a_trickle_is_as_good_as_dropped_and_gone_on_with(download, waits):
    """The hundred bytes come at once; on the clock of the download they took the whole window."""
    with FlakyServer(CONTENT, cut(100, holds=True), cut(50, holds=True)) as server:
        # One look when a connection begins, and one after each read.
        coming = download(server, clock=Clock(PATIENCE.window_seconds, num_looks=4))
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100-", "bytes=150-"]
    assert waits == [1.0, 2.0]


def test_nothing_but_a_trickle_comes_to_an_end(download):
    with (
        FlakyServer(CONTENT, always=cut(100, holds=True)) as server,
        pytest.raises(DataError, match=r"only 100 bytes came in 30 s, at the last of 6 tries\. 600 bytes are kept"),
    ):
        download(server, clock=Clock(PATIENCE.window_seconds)).receive_all()


def test_a_slow_moment_within_the_window_is_forgiven(download):
    with FlakyServer(CONTENT[:100]) as server:
        coming = download(server, clock=Clock(PATIENCE.window_seconds / 2))
        assert not coming.receive_all()
    assert coming.part.read_bytes() == CONTENT[:100]


def test_a_fast_beginning_does_not_excuse_a_trickle_after_it():
    now = [0.0]
    pace = Pace(Patience(slowest_bytes_per_second=10.0, window_seconds=30.0, clock=lambda: now[0]), done=5)
    for now[0], done in ((29.0, 5), (30.0, 1_000_000), (59.0, 1_000_000), (60.0, 1_000_300), (80.0, 1_000_300)):
        pace.check(done)
    now[0] = 100.0
    with pytest.raises(web.Dropped, match=r"only 399 bytes came in 40 s"):
        pace.check(1_000_699)


# Lengths and room


@pytest.mark.parametrize("sent", [CONTENT[:-1], CONTENT + b"x", b"<html>"])
def test_another_length_than_published_is_refused_before_it_comes(download, tmp_path, waits, sent):
    told = rf"a\.bin .*sends {len(sent):,} bytes \(text/html\); expected 200,000, as published\. Try again\."
    with (
        FlakyServer(sent, Answer(headers={"Content-Type": "text/html; charset=utf-8"})) as server,
        pytest.raises(DataError, match=told),
    ):
        download(server, replace(PUBLISHED, num_bytes=200_000)).receive_all()
    assert list(tmp_path.iterdir()) == []
    assert waits == []


def test_more_than_published_is_refused_where_the_server_did_not_say_and_not_read_to_its_end(download, tmp_path):
    seen = []
    with (
        FlakyServer(CONTENT * 10, Answer(length="chunked")) as server,
        listening(lambda event: seen.append(event.done)),
        pytest.raises(DataError, match=r"bytes or more; expected 150,000\."),
    ):
        download(server, replace(PUBLISHED, num_bytes=150_000)).receive_all()
    assert 150_000 < seen[-1] < 2_000_000
    assert seen[-2] <= 150_000
    assert list(tmp_path.iterdir()) == []


def test_less_than_published_is_told_where_the_server_did_not_say(download):
    with (
        FlakyServer(CONTENT, always=Answer(length="chunked", knows_range=False)) as server,
        pytest.raises(DataError, match=r"ended after 200,000 of 250,000 bytes, at the last of 6 tries"),
    ):
        download(server, replace(PUBLISHED, num_bytes=250_000)).receive_all()


def test_less_than_promised_is_told(download):
    with (
        FlakyServer(CONTENT, always=Answer(promised=250_000, knows_range=False)) as server,
        pytest.raises(DataError, match=r"ended after 200,000 of 250,000 bytes, at the last of 6 tries"),
    ):
        download(server).receive_all()


def test_where_a_cut_file_could_not_be_told_from_a_whole_one_it_is_refused(download, tmp_path):
    with (
        FlakyServer(CONTENT, Answer(length="until it closes")) as server,
        pytest.raises(DataError, match="does not say how long it is"),
    ):
        download(server, UNPUBLISHED).receive_all()
    assert list(tmp_path.iterdir()) == []


def test_chunks_say_where_they_end(download):
    with FlakyServer(CONTENT, Answer(length="chunked", cut_after=50_000), always=Answer(length="chunked")) as server:
        coming = download(server, UNPUBLISHED)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.served == [50_000, 150_000]


def test_a_disk_without_room_is_noticed_before_a_byte_is_written(download, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=199_999))
    with FlakyServer(CONTENT) as server:
        coming = download(server)
        with pytest.raises(OSError, match=r"200,000 bytes are still to come and 199,999 are free"):
            coming.receive_all()
    assert coming.num_bytes == 0


def test_only_the_rest_needs_room(download, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=200_000))
    with FlakyServer(CONTENT, cut(50_000)) as server:
        coming = download(server, num_tries=1)
        with pytest.raises(DataError):
            coming.receive_all()
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=150_000))
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT


# Progress


def test_whoever_watches_sees_the_bytes_come_in(download):
    seen = []
    with FlakyServer(CONTENT, cut(50_000)) as server, told_to(seen):
        download(server).receive_all()
    assert {(what, total, unit) for what, _, total, unit in seen} == {("downloading a.bin", 200_000, "bytes")}
    done = [done for _, done, _, _ in seen]
    assert done == sorted(done)
    assert 50_000 in done
    assert done[-1] == 200_000


def test_a_length_that_nobody_knows_is_told_as_zero(download):
    seen = []
    with FlakyServer(CONTENT, Answer(length="chunked")) as server, told_to(seen):
        download(server).receive_all()
    assert seen[-1] == ("downloading a.bin", 200_000, 0, "bytes")
