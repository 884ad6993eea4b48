import itertools
import math

import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists

from unbraid.objectives import BetaVAE
from unbraid.report.measures import Measure
from unbraid.report.strip_plot import DIAMETER, RoleLabel, merged_labels, strip_plot, swarm

MIG = Measure("mig", True, (0.0, 1.0))


def test_dots_that_are_far_apart_stay_on_the_line():
    assert swarm([0.0, 20.0, 40.0], diameter=12.0) == [0.0, 0.0, 0.0]


def test_equal_dots_are_stacked_above_and_below():
    assert sorted(swarm([5.0, 5.0, 5.0], diameter=12.0)) == [-12.0, 0.0, 12.0]


def test_a_dot_beside_another_moves_only_as_far_as_it_must():
    assert swarm([0.0, 6.0], diameter=12.0) == pytest.approx([0.0, -math.sqrt(12**2 - 6**2)])


@given(lists(floats(0, 100), max_size=12))
def test_no_two_dots_overlap(places):
    dots = list(zip(places, swarm(places, diameter=12.0), strict=True))
    assert all(math.dist(one, other) > 12 - 1e-6 for one, other in itertools.combinations(dots, 2))


def test_a_dot_stands_where_its_value_is(member):
    plot = strip_plot([[member(0.0), member(0.5, seed=1), member(1.0, seed=2)]], MIG, {})
    assert [dot.x for dot in plot.strips[0].dots] == [3.0, 50.0, 97.0]
    assert plot.strips[0].median == 0.5
    assert plot.strips[0].median_x == 50.0
    assert plot.strips[0].half_height == DIAMETER / 2
    assert (plot.ticks[0], plot.ticks[-1]) == ((3.0, "0"), (97.0, "1"))


def test_mig_is_drawn_from_zero_however_high_it_is(member):
    assert strip_plot([[member(0.81), member(0.83, seed=1)]], MIG, {}).ticks[0] == (3.0, "0")


def test_all_strips_share_one_axis(member):
    plot = strip_plot(
        [[member(0.2)], [member(0.2, objective=BetaVAE()), member(0.8, seed=1, objective=BetaVAE())]],
        MIG,
        {},
    )
    assert plot.strips[0].dots[0].x == plot.strips[1].dots[0].x


def test_the_members_that_are_shown_in_full_are_marked(member):
    best, worst = member(0.5), member(0.1, seed=1)
    plot = strip_plot([[best, worst]], MIG, {"best": best, "worst": worst})
    assert [dot.role for dot in plot.strips[0].dots] == ["best", "worst"]


def test_a_member_without_a_value_has_no_dot(member):
    plot = strip_plot([[member(), member(0.3, seed=1)], [member(objective=BetaVAE())]], MIG, {})
    assert [[dot.member.run.seed for dot in strip.dots] for strip in plot.strips] == [[1], []]


def test_an_axis_that_ends_before_the_best_possible_says_so(member):
    assert strip_plot([[member(0.1)]], MIG, {}).note == "the best possible is 1"
    assert strip_plot([[member(1.0)]], MIG, {}).note == ""


def test_labels_that_would_touch_are_one(member):
    assert merged_labels([RoleLabel(50.0, "middle"), RoleLabel(54.0, "worst")]) == (RoleLabel(52.0, "middle, worst"),)
    apart = (RoleLabel(10.0, "worst"), RoleLabel(60.0, "best"))
    assert merged_labels(apart) == apart
    best, middle, worst = member(0.5), member(0.49, seed=1), member(0.48, seed=2)
    plot = strip_plot([[best, middle, worst]], MIG, {"best": best, "middle": middle, "worst": worst})
    assert [label.text for label in plot.strips[0].labels] == ["worst, middle, best"]


@given(lists(floats(0, 100), max_size=4))
def test_no_two_labels_touch(places):
    labels = merged_labels([RoleLabel(place, "middle") for place in places])
    assert all(one.reach[1] <= other.reach[0] for one, other in itertools.pairwise(labels))


def test_many_dots_at_one_place_do_not_make_the_strip_a_tower(member):
    plot = strip_plot([[member(0.5, seed=seed) for seed in range(40)]], MIG, {})
    assert plot.strips[0].half_height < 60


def test_noise_does_not_fill_the_axis(member):
    assert strip_plot([[member(1e-9), member(3e-9, seed=1)]], MIG, {}).ticks[-1][1] == "0.06"
