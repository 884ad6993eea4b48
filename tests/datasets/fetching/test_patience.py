"""How often and how long a download tries again: errors that pass, waits, silence and trickles."""

import pytest

from tests.datasets.fetching.downloads import CONTENT, cut
from tests.datasets.flaky_server import Answer, FlakyServer
from unbraid.datasets.fetching import download as downloading
from unbraid.datasets.fetching.download import MAX_WAIT_SECONDS, NUM_TRIES, WINDOW_SECONDS, Dropped, Pace
from unbraid.errors import DataError

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
            match=(r"6 attempts .* 0 bytes"),
        ):
            download(server).receive_all()
        assert len(server.asked) == NUM_TRIES
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize("status", [400, 403, 404, 410])
def test_what_the_server_will_not_give_is_asked_for_once(download, waits, status):
    with FlakyServer(CONTENT, always=Answer(status=status)) as server:
        with pytest.raises(
            DataError,
            match=rf"a\.bin from http://.*the server answered {status} .*\. Try again\.",
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
        download(server, NUM_TRIES=10).receive_all()
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def test_a_connection_that_brings_something_gives_the_next_as_many_tries(download, waits):
    """Nineteen cuts, where three in a row would be too many: each brings enough to count."""
    with FlakyServer(CONTENT, *[cut(10_000)] * 19) as server:
        coming = download(server, NUM_TRIES=3, SLOWEST_BYTES_PER_SECOND=100.0, WINDOW_SECONDS=100.0)
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.served == [10_000] * 20
    assert waits == [1.0] * 19


def test_connections_that_bring_too_little_to_count_come_to_an_end(download):
    with FlakyServer(CONTENT, always=cut(10)) as server:
        with pytest.raises(DataError, match=r"6 attempts .* 60 bytes"):
            download(server).receive_all()
        assert server.served == [10] * NUM_TRIES


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
        pytest.raises(DataError, match="ended after|another version"),
    ):
        download(server).receive_all()
    assert len(server.asked) <= NUM_TRIES + 1


def test_silence_is_not_waited_for(download):
    with FlakyServer(CONTENT, cut(50_000, holds=True)) as server:
        coming = download(server, SECONDS_PER_READ=0.3)
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
        coming = download(server, monotonic=Clock(WINDOW_SECONDS, num_looks=4))
        coming.receive_all()
    assert coming.part.read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=100-", "bytes=150-"]
    assert waits == [1.0, 2.0]


def test_nothing_but_a_trickle_comes_to_an_end(download):
    with (
        FlakyServer(CONTENT, always=cut(100, holds=True)) as server,
        pytest.raises(DataError, match=r"6 attempts .* 600 bytes"),
    ):
        download(server, monotonic=Clock(WINDOW_SECONDS)).receive_all()


def test_a_slow_moment_within_the_window_is_forgiven(download):
    with FlakyServer(CONTENT[:100]) as server:
        coming = download(server, monotonic=Clock(WINDOW_SECONDS / 2))
        assert not coming.receive_all()
    assert coming.part.read_bytes() == CONTENT[:100]


def test_a_fast_beginning_does_not_excuse_a_trickle_after_it(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(downloading, "monotonic", lambda: now[0])
    monkeypatch.setattr(downloading, "SLOWEST_BYTES_PER_SECOND", 10.0)
    pace = Pace(done=5)
    for now[0], done in ((29.0, 5), (30.0, 1_000_000), (59.0, 1_000_000), (60.0, 1_000_300), (80.0, 1_000_300)):
        pace.check(done)
    now[0] = 100.0
    with pytest.raises(Dropped, match="399 bytes"):
        pace.check(1_000_699)
