"""A clock that jumps back, and files that seem to come from the future, change no result."""

import datetime
import os
import random
import signal
import time

import pytest

from tests.crash.job import results

SEED = 9


@pytest.mark.slow
def test_a_clock_that_goes_back_changes_no_result(nursery, undisturbed, tmp_path):
    killed_at = ["training", "call", undisturbed.counts["training", "call"] // 2]
    ended = nursery.live(tmp_path, clock_going_back={}, killed={"at": killed_at})
    assert ended.code == -signal.SIGKILL, ended.said
    # When each file was written, as a clock that was wrong would have put it: hours ago, or hours ahead.
    draws = random.Random(SEED)
    for path in tmp_path.rglob("*"):
        os.utime(path, (time.time() + draws.uniform(-1e5, 1e5),) * 2)
    ended = nursery.live(tmp_path, clock_going_back={})
    assert ended.code == 0, ended.said
    assert results(tmp_path) == undisturbed.results
    for log in tmp_path.glob("runs/*/log.txt"):
        moments = [datetime.datetime.fromisoformat(line.split()[0]) for line in log.read_text().splitlines()]
        assert len(moments) == 3
        assert moments[1] > moments[2], "the clock did not go back"
