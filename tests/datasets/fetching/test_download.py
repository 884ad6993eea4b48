"""A file comes in whole over bad connections, and what has come is not asked for twice."""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.datasets.fetching.downloads import CONTENT, PUBLISHED, UNPUBLISHED, cut
from tests.datasets.flaky_server import Answer, FlakyServer
from tests.told import told_to
from unbraid._internal import files
from unbraid._internal.progress import listening
from unbraid.errors import DataError

YESTERDAY, TODAY = "Sat, 14 Nov 2026 09:00:00 GMT", "Sun, 15 Nov 2026 09:00:00 GMT"


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
            match=(r"1 attempts .*123,456"),
        ):
            download(server, NUM_TRIES=1).receive_all()
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
        coming = download(server, NUM_TRIES=1)
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
        pytest.raises(DataError, match=r"150,000\."),
    ):
        download(server, replace(PUBLISHED, num_bytes=150_000)).receive_all()
    assert 150_000 < seen[-1] < 2_000_000
    assert seen[-2] <= 150_000
    assert list(tmp_path.iterdir()) == []


def test_less_than_published_is_told_where_the_server_did_not_say(download):
    with (
        FlakyServer(CONTENT, always=Answer(length="chunked", knows_range=False)) as server,
        pytest.raises(DataError, match="200,000 of 250,000"),
    ):
        download(server, replace(PUBLISHED, num_bytes=250_000)).receive_all()


def test_less_than_promised_is_told(download):
    with (
        FlakyServer(CONTENT, always=Answer(promised=250_000, knows_range=False)) as server,
        pytest.raises(DataError, match="200,000 of 250,000"),
    ):
        download(server).receive_all()


def test_where_a_cut_file_could_not_be_told_from_a_whole_one_it_is_refused(download, tmp_path):
    with (
        FlakyServer(CONTENT, Answer(length="until it closes")) as server,
        pytest.raises(DataError, match="Content-Length"),
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
        with pytest.raises(OSError, match="200,000 bytes"):
            coming.receive_all()
    assert coming.num_bytes == 0


def test_only_the_rest_needs_room(download, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=200_000))
    with FlakyServer(CONTENT, cut(50_000)) as server:
        coming = download(server, NUM_TRIES=1)
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
