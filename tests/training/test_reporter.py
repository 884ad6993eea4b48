"""Rows of the history depend on the step alone; events, on the clock."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

from tests.training.squares import MLP_SPEC
from unbraid._internal.progress import listening
from unbraid.training.fleet import Fleet
from unbraid.training.optimizers import Adam
from unbraid.training.reporter import Reporter, plan_text
from unbraid.training.runs import Run
from unbraid.training.sizing import Memory
from unbraid.training.state import Member


class Clock:
    def __init__(self):
        self.now = 5000.0

    def __call__(self):
        return self.now


@pytest.fixture
def idle(monkeypatch):
    """Steps that cost nothing: their loss is their number."""

    def advance(fleet, log=True):
        fleet.step += 1
        return {"loss": torch.full((2,), float(fleet.step))} if log else {}

    monkeypatch.setattr(Fleet, "advance", advance)


def reported(tmp_path, num_steps, seconds_per_step, *, steps=None, later=0, learning_rates=(1e-3, 1e-3)):
    """Returns the reporter, the events and the failures of so many steps, each of which takes so long."""
    specs = [replace(MLP_SPEC, num_steps=num_steps, optimizer=Adam(rate)) for rate in learning_rates]
    fleet, clock, seen = Fleet([Member(spec, 0) for spec in specs], MLP_SPEC.dataset.load()), Clock(), []
    runs = [Run.place(tmp_path, spec, seed) for seed, spec in enumerate(specs)]
    reporter = Reporter(runs, fleet, steps_later=later, clock=clock)
    failed = []
    with listening(seen.append):
        for _ in range(steps or num_steps):
            losses = fleet.advance(log=reporter.needs_losses)
            clock.now += seconds_per_step
            failed += [(fleet.step, index) for index in reporter.after_step(losses)]
    return reporter, seen, failed


@pytest.mark.usefixtures("idle")
def test_a_short_run_has_a_row_a_step_and_a_long_one_no_more_than_a_thousand(tmp_path):
    for num_steps in (7, 499, 999):
        reporter, _, _ = reported(tmp_path, num_steps, 0.001)
        assert [row[0] for row in reporter.histories[0].rows] == list(range(1, num_steps + 1))
    reporter, _, _ = reported(tmp_path, 1500, 0.001)
    assert [row[0] for row in reporter.histories[0].rows] == [1, *range(3, 1501, 3)]


@pytest.mark.usefixtures("idle")
def test_what_is_written_down_does_not_depend_on_the_clock(tmp_path):
    slow, fast = (reported(tmp_path, 40, seconds)[0] for seconds in (30.0, 0.0))
    assert slow.histories == fast.histories


@pytest.mark.usefixtures("idle")
def test_speed_and_time_leave_out_the_first_step(tmp_path):
    _, seen, _ = reported(tmp_path, 11, 2.0)
    assert (seen[0].per_second, seen[0].seconds_left) == (0.0, math.inf)
    assert [progress.per_second for progress in seen[1:]] == pytest.approx([0.5] * 10)
    assert [progress.seconds_left for progress in seen[1:]] == pytest.approx([18.0, 16, 14, 12, 10, 8, 6, 4, 2, 0])


@pytest.mark.usefixtures("idle")
def test_the_time_of_fleets_that_wait_is_that_of_as_many_steps_of_as_many_members(tmp_path):
    _, seen, _ = reported(tmp_path, 11, 2.0, later=60)
    assert seen[-1].seconds_left == pytest.approx(60 / 2 * 2.0)


@pytest.mark.usefixtures("idle")
def test_between_two_rows_there_is_an_event_every_ten_seconds(tmp_path):
    _, seen, _ = reported(tmp_path, 50_000, 3.0, steps=30)
    # The first row is that of step 1, the second that of step 100.
    assert [progress.done for progress in seen] == [1, 5, 9, 13, 17, 21, 25, 29]
    assert all(progress.values == seen[0].values for progress in seen)


@pytest.mark.usefixtures("idle")
def test_a_fast_fleet_is_looked_at_twice_a_second(tmp_path, monkeypatch):
    looks = []
    alive = Fleet.alive

    def look(fleet):
        looks.append(fleet.step)
        return alive.fget(fleet)

    monkeypatch.setattr(Fleet, "alive", property(look))
    reported(tmp_path, 10**6, 1 / 64, steps=256)
    assert len(looks) < 20
    assert all(after - before <= 33 for before, after in itertools.pairwise(looks))


def test_a_member_that_fails_is_found_out_once_and_has_no_more_rows(tmp_path):
    reporter, seen, failed = reported(tmp_path, 10, 0.1, learning_rates=(1e-3, 1e30))
    assert failed == [(2, 1)]
    assert [len(history.rows) for history in reporter.histories] == [10, 1]
    assert reporter.alive.tolist() == [True, False]
    assert len(seen) == 10


CPU = torch.device("cpu")


def test_a_plan_names_the_fleets_and_the_memory():
    memory = Memory(per_member=310_000_000, beside=0, free=139_000_000_000)
    assert plan_text([3, 1], 100, CPU, memory) == (
        "4 models in 2 fleets, one after the other (3 + 1), 100 steps each, on cpu. "
        "A model needs at most 310 MB, and 139 GB are free."
    )
    assert plan_text([1], 5, CPU, None) == "1 model, 5 steps each, on cpu."
