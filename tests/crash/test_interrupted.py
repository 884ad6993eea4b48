"""Ctrl-C once saves a checkpoint and leaves; twice, or where nothing is being trained, it leaves now. Nothing is lost
either way.
"""

import itertools
import random
import re
import signal

import pytest

from tests.slow import slow_but

pytestmark = pytest.mark.slow

SEED = 8


def moment(phase, kind, counts):
    return [phase, kind, random.Random(f"{SEED} {phase} {kind}").randint(1, counts[phase, kind])]


def within_training(counts):
    """A moment of its second half: in the first it may still be measured how much memory it takes."""
    return [
        "training",
        "call",
        random.Random(SEED).randint(counts["training", "call"] // 2, counts["training", "call"]),
    ]


def test_once_training_stops_after_its_step_with_a_checkpoint(nursery, undisturbed, tmp_path):
    ended = nursery.live(tmp_path, interrupted={"at": within_training(undisturbed.counts)})
    assert ended.code == 1
    stopped = re.search(r"Error: Stopped by a signal at step (\d) of 6 with a checkpoint. Resume with", ended.said)
    assert stopped, ended.said
    assert len(list(tmp_path.glob(f"runs/*/checkpoints/step-{int(stopped[1]):010d}.json"))) == 2
    undisturbed.assert_finished_by(nursery, tmp_path)


def test_twice_it_leaves_now(nursery, undisturbed, tmp_path):
    ended = nursery.live(tmp_path, interrupted={"at": within_training(undisturbed.counts), "times": 2})
    assert ended.code == 130
    assert "Interrupted" in ended.said
    undisturbed.assert_finished_by(nursery, tmp_path)


def test_a_second_signal_that_python_leaves_to_the_system_ends_it_at_once(nursery, undisturbed, tmp_path):
    asked = {"at": within_training(undisturbed.counts), "times": 2, "by": "SIGTERM"}
    assert nursery.live(tmp_path, interrupted=asked).code == -signal.SIGTERM
    undisturbed.assert_finished_by(nursery, tmp_path)


@pytest.mark.parametrize("times", slow_but([1], [1, 2]))
def test_in_the_middle_of_a_checkpoint_nothing_is_lost(times, nursery, undisturbed, tmp_path):
    ended = nursery.live(
        tmp_path, interrupted={"at": moment("checkpointing", "write", undisturbed.counts), "times": times}
    )
    assert ended.code == (1 if times == 1 else 130)
    undisturbed.assert_finished_by(nursery, tmp_path)


@pytest.mark.parametrize("kind", slow_but(["write"], ["call", "write"]))
def test_while_it_encodes_it_ends_what_it_is_at_and_leaves(kind, nursery, undisturbed, tmp_path):
    ended = nursery.live(tmp_path, interrupted={"at": moment("encoding", kind, undisturbed.counts)})
    assert ended.code == 1
    assert re.search("Stopped.*by a signal", ended.said)
    undisturbed.assert_finished_by(nursery, tmp_path)


@pytest.mark.parametrize(
    ("phase", "kind"),
    slow_but([("scoring", "call")], itertools.product(["scoring", "reporting"], ["call", "write"])),
)
def test_where_nothing_is_trained_once_is_enough_to_leave_now(phase, kind, nursery, undisturbed, tmp_path):
    ended = nursery.live(tmp_path, interrupted={"at": moment(phase, kind, undisturbed.counts)})
    assert ended.code == 130
    assert "Interrupted" in ended.said
    assert not list(tmp_path.rglob("*.part"))
    undisturbed.assert_finished_by(nursery, tmp_path)
