"""Two processes with the same command in the same folder: one is refused or waits, nothing is overwritten, and the
results are those of one.
"""

import os
import time

import pytest

from tests.crash.job import results
from tests.slow import slow_but

pytestmark = pytest.mark.slow

REFUSED = 2


def paused_at(nursery, folder, moment):
    """Begin a life that stops at a moment, and wait until it is there."""
    pid = nursery.begin(folder, paused={"at": moment})
    while not (folder / "waiting").exists():
        os.kill(pid, 0)  # an error, if it has ended without having been there
        time.sleep(0.005)
    return pid


@pytest.mark.parametrize(
    ("phase", "kind"),
    slow_but([("training", "call")], [("training", "call"), ("checkpointing", "write"), ("encoding", "write")]),
)
def test_while_one_trains_the_other_is_refused_and_changes_nothing(phase, kind, nursery, undisturbed, tmp_path):
    first = paused_at(nursery, tmp_path, [phase, kind, undisturbed.counts[phase, kind] // 2])
    before = results(tmp_path) if kind == "call" else None  # elsewhere other threads of the first write on
    ended = nursery.live(tmp_path)
    assert ended.code == REFUSED
    assert "Error: Another process is training " in ended.said
    assert "Wait for that process" in ended.said
    assert before is None or results(tmp_path) == before
    (tmp_path / "go-on").touch()
    assert nursery.end(first, tmp_path).code == 0
    assert results(tmp_path) == undisturbed.results


@pytest.mark.parametrize(
    "moment",
    slow_but(
        [["reporting", "write", 1]], [["scoring", "call", 100], ["reporting", "call", 100], ["reporting", "write", 1]]
    ),
    ids=str,
)
def test_while_one_scores_or_reports_the_other_does_so_too(moment, nursery, undisturbed, tmp_path):
    first = paused_at(nursery, tmp_path, moment)
    assert nursery.live(tmp_path).code == 0
    (tmp_path / "go-on").touch()
    assert nursery.end(first, tmp_path).code == 0
    assert results(tmp_path) == undisturbed.results


@pytest.mark.parametrize(
    "moment",
    slow_but([["scoring", "write", 1]], [["scoring", "write", 1], ["training", "write", 1]]),
    ids=["keeping scores", "drawing images"],
)
def test_while_one_keeps_scores_or_draws_images_the_other_waits(moment, nursery, undisturbed, tmp_path):
    first = paused_at(nursery, tmp_path, moment)
    second = nursery.begin(tmp_path)
    (tmp_path / "go-on").touch()
    codes = {nursery.end(pid, tmp_path).code for pid in (first, second)}
    # Once the images are drawn both want to train, and one of them is refused.
    assert codes == ({0} if moment[0] == "scoring" else {0, REFUSED})
    assert results(tmp_path) == undisturbed.results


@pytest.mark.slow
def test_three_that_race_leave_what_one_would(nursery, undisturbed, tmp_path):
    racing = [nursery.begin(tmp_path) for _ in range(3)]
    ended = [nursery.end(pid, tmp_path) for pid in racing]
    assert {each.code for each in ended} <= {0, REFUSED}, ended[-1].said
    assert 0 in {each.code for each in ended}
    assert results(tmp_path) == undisturbed.results
