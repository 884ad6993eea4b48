"""SIGKILL at 20 random moments of one job: the same command finishes it, with the same bytes as if nothing had
happened.
"""

import json
import random
import signal

import pytest

from tests.crash.job import results
from tests.crash.moments import PHASES, last_words

SEED = 6
# How many moments of each phase and kind. Training itself writes little, and a checkpoint is all writing.
SHARES = {
    "training": {"call": 3, "write": 1},
    "checkpointing": {"open": 1, "write": 1, "change": 2},
    "encoding": {"call": 1, "open": 1, "write": 1, "change": 1},
    "scoring": {"call": 2, "write": 1, "change": 1},
    "reporting": {"call": 2, "write": 1, "change": 1},
}


def chosen(phase, counts):
    """The moments of a phase, drawn from all that it has."""
    draws = random.Random(f"{SEED} {phase}")
    for kind, number in SHARES[phase].items():
        assert counts.get((phase, kind), 0) >= number, (
            f"{phase} has {counts.get((phase, kind), 0)} moments of kind {kind}: did its function move?"
        )
        for place in draws.sample(range(1, counts[phase, kind] + 1), number):
            yield [phase, kind, place]


def test_the_moments_are_twenty_and_of_every_phase():
    assert tuple(SHARES) == PHASES
    assert sum(sum(shares.values()) for shares in SHARES.values()) == 20


@pytest.mark.parametrize("phase", PHASES)
def test_killed_at_any_moment_the_job_is_finished_by_the_same_command(phase, nursery, undisturbed, tmp_path):
    for number, moment in enumerate(chosen(phase, undisturbed.counts)):
        folder = tmp_path / str(number)
        ended = nursery.live(folder, killed={"at": moment})
        assert ended.code == -signal.SIGKILL, f"{moment}: {ended.said}"
        assert json.loads(last_words(folder).read_text()) == moment
        ended = nursery.live(folder)
        assert ended.code == 0, f"{moment}: {ended.said}"
        assert results(folder) == undisturbed.results, moment


def test_killed_again_and_again_the_job_is_finished_by_the_same_command(nursery, undisturbed, tmp_path):
    # A few moments into a phase each: later ones a life that goes on from where the last one fell might not have.
    draws = random.Random(SEED)
    for phase in PHASES:
        moment = [phase, "write" if phase == "checkpointing" else "call", draws.randint(1, 3)]
        ended = nursery.live(tmp_path, killed={"at": moment})
        assert ended.code == -signal.SIGKILL, f"{moment}: {ended.said}"
    assert nursery.live(tmp_path).code == 0
    assert results(tmp_path) == undisturbed.results


@pytest.mark.parametrize("method", ["keep", "conclude"])
@pytest.mark.parametrize("checkpoints", [{}, {"checkpoints_by_the_clock": {}}], ids=["checkpoints", "by default"])
def test_killed_when_one_of_a_fleet_was_finished_the_others_end_as_in_its_company(
    method, checkpoints, nursery, undisturbed, tmp_path
):
    ended = nursery.live(tmp_path, killed_after_the_first={"method": method}, **checkpoints)
    assert ended.code == -signal.SIGKILL, ended.said
    assert len(list(tmp_path.glob("runs/*/finished.json"))) == (method == "conclude")
    ended = nursery.live(tmp_path, **checkpoints)
    assert ended.code == 0, ended.said
    assert results(tmp_path) == undisturbed.results
