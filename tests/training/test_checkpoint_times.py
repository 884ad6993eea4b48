"""Checkpoints take little of the time."""

import pytest

from unbraid.errors import SpecError
from unbraid.training import TrainingOptions
from unbraid.training.checkpoint_times import CheckpointTimes


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def saved(times, clock, seconds):
    with times.saving():
        clock.now += seconds


def test_every_so_many_steps_and_after_the_last():
    times = CheckpointTimes(4, clock=Clock())
    assert [step for step in range(1, 11) if times.is_due(step)] == [4, 8]
    assert times.is_due(10, is_last=True)


def test_by_the_clock_the_first_comes_after_a_minute():
    clock = Clock()
    times = CheckpointTimes(None, clock=clock)
    clock.now += 59.9
    assert not times.is_due(1)
    assert not times.is_due(1, is_last=True)
    clock.now += 0.2
    assert times.is_due(1)


def test_a_large_first_one_waits_until_its_cost_is_two_percent():
    clock = Clock()
    times = CheckpointTimes(None, num_bytes=3_400_000_000, clock=clock)  # 6.8 s, at 500 MB/s
    clock.now += 339
    assert not times.is_due(1)
    clock.now += 2
    assert times.is_due(1)


@pytest.mark.parametrize(("cost", "pause"), [(0.1, 60.0), (4.0, 200.0)])
def test_then_a_minute_or_fifty_times_what_the_last_one_cost_must_pass(cost, pause):
    clock = Clock()
    times = CheckpointTimes(None, clock=clock)
    saved(times, clock, cost)
    clock.now += pause - 0.1
    assert not times.is_due(2)
    clock.now += 0.2
    assert times.is_due(2)


def test_in_the_long_run_less_than_two_percent_of_the_time_go_into_them():
    clock, spent = Clock(), 0.0
    times, began = CheckpointTimes(None, clock=clock), clock.now
    for step in range(20_000):
        clock.now += 1.0
        if times.is_due(step):
            saved(times, clock, 7.0)
            spent += 7.0
    assert 0.01 < spent / (clock.now - began) < 0.02


def test_one_that_failed_does_not_count():
    clock = Clock()
    times = CheckpointTimes(None, clock=clock)
    clock.now += 61
    with pytest.raises(OSError, match="full"), times.saving():
        raise OSError("full")
    assert times.is_due(3)


@pytest.mark.parametrize("every", [0, -3])
def test_no_steps_between_them_are_refused(every):
    with pytest.raises(SpecError, match=f"checkpoint_every is {every}"):
        TrainingOptions(checkpoint_every=every)
