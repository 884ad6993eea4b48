"""SIGKILL at 20 random moments of one job, and before each change to the disk of another: the same command finishes it,
with the same bytes as if nothing had happened.
"""

import itertools
import json
import random
import signal

import pytest

from tests.crash import small_fleet
from tests.crash.job import results
from tests.crash.moments import PHASES, last_words
from tests.slow import slow_but
from tests.training.squares import result
from unbraid.training.runs.run import Run

SEED = 6
# How many moments of each phase and kind. Training itself writes little, and a checkpoint is all writing.
SHARES = {
    "training": {"call": 3, "write": 1},
    "checkpointing": {"open": 1, "write": 1, "change": 2},
    "encoding": {"call": 1, "open": 1, "write": 1, "change": 1},
    "scoring": {"call": 2, "write": 1, "change": 1},
    "reporting": {"call": 2, "write": 1, "change": 1},
}


BY_THE_CLOCK = {"checkpoints_by_the_clock": {}}


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


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_killed_at_any_moment_the_job_is_finished_by_the_same_command(phase, nursery, undisturbed, tmp_path):
    for number, moment in enumerate(chosen(phase, undisturbed.counts)):
        folder = tmp_path / str(number)
        ended = nursery.live(folder, killed={"at": moment})
        assert ended.code == -signal.SIGKILL, f"{moment}: {ended.said}"
        assert json.loads(last_words(folder).read_text()) == moment
        undisturbed.assert_finished_by(nursery, folder)


@pytest.mark.slow
def test_killed_again_and_again_the_job_is_finished_by_the_same_command(nursery, undisturbed, tmp_path):
    # Every phase and every kind, each near its beginning: later ones a life that goes on from where the last one fell
    # might not have.
    kinds = ("call", "write", "change", "open", "call")
    for moment in ([phase, kind, 1] for phase, kind in zip(PHASES, kinds, strict=True)):
        ended = nursery.live(tmp_path, killed={"at": moment})
        assert ended.code == -signal.SIGKILL, f"{moment}: {ended.said}"
    undisturbed.assert_finished_by(nursery, tmp_path)


@pytest.mark.parametrize(
    ("method", "checkpoints"),
    slow_but([("keep", {}), ("conclude", BY_THE_CLOCK)], itertools.product(["keep", "conclude"], [{}, BY_THE_CLOCK])),
)
def test_killed_when_one_of_a_fleet_was_finished_the_others_end_as_in_its_company(
    method, checkpoints, nursery, undisturbed, tmp_path
):
    ended = nursery.live(tmp_path, killed_after_the_first={"method": method}, **checkpoints)
    assert ended.code == -signal.SIGKILL, ended.said
    assert len(list(tmp_path.glob("runs/*/finished.json"))) == (method == "conclude")
    ended = nursery.live(tmp_path, **checkpoints)
    assert ended.code == 0, ended.said
    assert results(tmp_path) == undisturbed.results


@pytest.mark.slow
def test_killed_before_any_one_of_its_changes_to_the_disk_a_run_resumes_to_the_same_bits(nursery, tmp_path):
    # Each change is a file that takes its name, or one that goes: spec, log, history, checkpoint, weights, codes,
    # finished.
    def results_in(folder):
        assert nursery.live(folder, small_fleet={}).code == 0
        runs = [Run.place(folder / "runs", small_fleet.SPEC, seed) for seed in small_fleet.SEEDS]
        assert not any((run.folder / "checkpoints").exists() for run in runs)
        kept = [[*run.folder.glob("snapshots/*"), *run.folder.glob("state.*")] for run in runs]
        assert [len(paths) for paths in kept] == [4, 4]
        extras = [{path.name: path.read_bytes() for path in paths} for paths in kept]
        return [result(run) | extra for run, extra in zip(runs, extras, strict=True)]

    expected = results_in(tmp_path / "undisturbed")
    for number in itertools.count(1):
        ended = nursery.live(tmp_path / str(number), small_fleet={"dies_at": number})
        if ended.code == 0:
            break
        assert ended.code == -signal.SIGKILL, ended.said
        assert results_in(tmp_path / str(number)) == expected, f"killed before change {number}"
    assert number > 30
