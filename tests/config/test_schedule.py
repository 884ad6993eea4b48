"""Numbers that change over training."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unbraid.config.schedule import Cosine, Cyclic, Linear, extremes, scaled, shifted, value_at
from unbraid.errors import SpecError

SCHEDULES = [
    Linear(0.0, 4.0),
    Linear(4.0, 1.0, 0.25, 0.5),
    Cosine(0.0, 4.0),
    Cosine(2.0, -1.0, 0.1, 0.9),
    Cyclic(0.0, 4.0),
    Cyclic(3.0, 1.0, 2, 0.8),
]
MOMENTS = st.floats(0, 1)


def at(schedule, progress):
    return schedule.at(torch.tensor(progress, dtype=torch.float64)).item()


# Known answers


@pytest.mark.parametrize(
    ("schedule", "values"),
    [
        (Linear(0.0, 4.0), [0.0, 1.0, 2.0, 3.0, 4.0]),
        (Linear(0.0, 4.0, finish=0.5), [0.0, 2.0, 4.0, 4.0, 4.0]),
        (Linear(4.0, 0.0, begin=0.5), [4.0, 4.0, 4.0, 2.0, 0.0]),
        (Cosine(0.0, 4.0), [0.0, 2 - math.sqrt(2), 2.0, 2 + math.sqrt(2), 4.0]),
        (Cyclic(0.0, 4.0, num_cycles=1), [0.0, 2.0, 4.0, 4.0, 4.0]),
        (Cyclic(0.0, 4.0, num_cycles=2, rising=1.0), [0.0, 2.0, 0.0, 2.0, 4.0]),
    ],
    ids=repr,
)
def test_its_values_at_each_quarter(schedule, values):
    assert [at(schedule, quarter / 4) for quarter in range(5)] == pytest.approx(values, abs=1e-12)


def test_a_number_is_a_schedule_that_never_changes():
    progress = torch.tensor(0.3)
    assert value_at(2.5, progress) == 2.5
    assert extremes(2.5) == (2.5, 2.5)
    assert shifted(2.5, -1.0) == 1.5
    assert scaled(2.5, 4.0) == 10.0


# Laws


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@given(progress=MOMENTS)
def test_it_stays_between_its_extremes(schedule, progress):
    low, high = extremes(schedule)
    assert low - 1e-12 <= at(schedule, progress) <= high + 1e-12


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@given(progress=MOMENTS)
def test_a_shifted_schedule_is_the_schedule_plus_a_number(schedule, progress):
    assert at(shifted(schedule, 1.5), progress) == pytest.approx(at(schedule, progress) + 1.5, abs=1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
@given(progress=MOMENTS)
def test_a_scaled_schedule_is_the_schedule_times_a_number(schedule, progress):
    assert at(scaled(schedule, 2.5), progress) == pytest.approx(2.5 * at(schedule, progress), abs=1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)
def test_it_keeps_the_precision_of_the_moment(schedule):
    for dtype in (torch.float32, torch.float64):
        assert schedule.at(torch.tensor(0.3, dtype=dtype)).dtype == dtype


# Errors


@pytest.mark.parametrize("kind", [Linear, Cosine])
@pytest.mark.parametrize(
    "fields",
    [
        (math.nan, 1.0),
        (0.0, math.inf),
        (0.0, 1.0, 0.5, 0.5),
        (0.0, 1.0, -0.1),
        (0.0, 1.0, 0.0, 1.1),
        (0.0, 1.0, 0.9, 0.1),
    ],
)
def test_what_is_no_path_is_refused(kind, fields):
    with pytest.raises(SpecError, match=rf"{kind.__name__}\(start="):
        kind(*fields)


@pytest.mark.parametrize("fields", [(math.nan, 1.0), (0.0, 1.0, 0), (0.0, 1.0, 2, 0.0), (0.0, 1.0, 2, 1.1)])
def test_what_is_no_cycle_is_refused(fields):
    with pytest.raises(SpecError, match=r"Cyclic\(low="):
        Cyclic(*fields)


@pytest.mark.parametrize("compute", [lambda s: s * 2.0, lambda s: 2.0 * s, lambda s: s + 1.0, lambda s: 1.0 - s])
def test_a_formula_that_forgot_the_moment_is_told(compute):
    with pytest.raises(SpecError, match=r"objective.at\(progress\)"):
        compute(Linear(0.0, 4.0))
