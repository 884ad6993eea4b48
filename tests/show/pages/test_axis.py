import pytest
from hypothesis import assume, given
from hypothesis.strategies import floats, lists

from unbraid.show.pages.axis import Axis, tick_text

numbers = floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)


def test_an_axis_ends_on_round_numbers():
    assert Axis.over([0.0, 0.33]).ticks == (0.0, 0.1, 0.2, 0.3, 0.4)
    assert Axis.over([17.0, 131.0]).ticks == (0.0, 50.0, 100.0, 150.0)


def test_an_axis_begins_at_zero_only_where_that_costs_little():
    assert Axis.over([3.0, 10.0]).ticks[0] == 0
    assert Axis.over([230.0, 240.0]).ticks[0] == 230


def test_a_single_value_lies_inside_its_axis():
    axis = Axis.over([5.0])
    assert 0 < axis.share(5.0) < 1
    assert 0 < Axis.over([0.0]).share(0.0) < 1


def test_share_is_zero_at_the_first_tick_and_one_at_the_last():
    axis = Axis((1.0, 2.0, 3.0))
    assert [axis.share(value) for value in (1.0, 2.0, 3.0)] == [0.0, 0.5, 1.0]


@given(lists(numbers, min_size=1, max_size=5))
def test_an_axis_holds_every_value_and_has_few_even_steps(values):
    assume(max(values) - min(values) > 1e-6 * max(map(abs, values)) or max(values) == min(values))
    axis = Axis.over(values)
    assert all(-1e-6 <= axis.share(value) <= 1 + 1e-6 for value in values)
    assert 2 <= len(axis.ticks) <= 7
    steps = [b - a for a, b in zip(axis.ticks, axis.ticks[1:], strict=False)]
    assert steps == pytest.approx([steps[0]] * len(steps), rel=1e-4)


def test_ticks_are_short():
    assert [tick_text(value) for value in (0.0, 0.25, -0.5, 1000.0, 12500.0)] == ["0", "0.25", "−0.5", "1k", "12.5k"]
