import itertools
import math

from hypothesis import given
from hypothesis.strategies import floats, lists

from unbraid.objectives import BetaVAE
from unbraid.report.loss_curves import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    loss_panels,
    spread_labels,
    spread_within,
)
from unbraid.runs import History


def history(values, part="rate"):
    return History(("step", part), [(100.0 * step, value) for step, value in enumerate(values)])


def points(line):
    return [tuple(map(float, point.split(","))) for point in line.points.split()]


def test_a_line_goes_through_its_values(member):
    (panel,) = loss_panels([[member(history=history([0.0, 1.0, 2.0]))]])
    (line,) = panel.lines
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    assert points(line) == [(0.0, height), (width / 2, height / 2), (width, 0.0)]
    assert (panel.y_ticks[0], panel.y_ticks[-1]) == ((HEIGHT - BOTTOM, "0"), (TOP, "2"))
    assert (panel.x_ticks[0], panel.x_ticks[-1]) == ((LEFT, "0"), (WIDTH - RIGHT, "200"))


def test_the_thick_line_is_the_median_of_the_thin_ones(member):
    (panel,) = loss_panels([[member(seed=s, history=history([v, v])) for s, v in enumerate([0.0, 1.0, 4.0])]])
    *thin, thick = panel.lines
    assert [line.is_median for line in (*thin, thick)] == [False, False, False, True]
    assert points(thick) == points(thin[1])
    assert [label.text for label in panel.labels] == ["1.00"]


def test_every_part_has_a_panel_and_the_loss_comes_last(member):
    of_one = History(("step", "loss", "distortion"), [(1.0, 2.0, 3.0)])
    of_other = History(("step", "loss", "my_penalty"), [(1.0, 2.0, 3.0)])
    panels = loss_panels([[member(history=of_one)], [member(objective=BetaVAE(), history=of_other)]])
    assert [panel.name for panel in panels] == ["distortion", "my penalty", "loss"]
    assert [line.group for line in panels[1].lines] == [1]


def test_a_long_history_is_thinned_by_averaging(member):
    (panel,) = loss_panels([[member(history=history([0.0, 1.0] * 400))]])
    assert len(points(panel.lines[0])) == 80
    assert {y for _, y in points(panel.lines[0])} == {points(panel.lines[0])[0][1]}


def test_the_first_steps_may_leave_the_plot(member):
    (panel,) = loss_panels([[member(history=history([1000.0] * 10 + [5.0, 6.0] * 395))]])
    assert points(panel.lines[0])[0][1] < 0
    assert panel.y_ticks[-1][1] != "1k"


def test_the_axis_ends_where_training_did(member):
    (panel,) = loss_panels([[member(history=History(("step", "rate"), [(0.0, 1.0), (1600.0, 2.0)]))]])
    assert panel.x_ticks == ((LEFT, "0"), (LEFT + (WIDTH - LEFT - RIGHT) * 0.625, "1k"), (WIDTH - RIGHT, "1.6k"))


def test_the_label_at_the_end_knows_where_its_line_ends_and_stays_inside(member):
    groups = [
        [member(objective=BetaVAE(float(b)), history=history([0.0, v]))] for b, v in ((1, 0.0), (2, 0.01), (3, 4.0))
    ]
    (panel,) = loss_panels(groups)
    assert [label.end_y for label in panel.labels] == [HEIGHT - BOTTOM, 163.6, TOP]
    assert [label.y for label in panel.labels][2] == TOP
    assert all(TOP <= label.y <= HEIGHT - BOTTOM for label in panel.labels)


def test_of_many_members_only_the_medians_are_drawn(member):
    (panel,) = loss_panels([[member(seed=s, history=history([1.0, 2.0])) for s in range(30)]])
    assert [line.is_median for line in panel.lines] == [True]


def test_latents_share_a_panel_with_a_line_for_each_of_the_first_seed(member):
    columns = ("step", "rate", "information_z0", "information_z1")
    told = History(columns, [(0.0, 1.0, 0.0, 0.0), (50.0, 1.0, math.nan, math.nan), (100.0, 1.0, 2.0, 1.0)])
    rate, latents = loss_panels([[member(seed=seed, history=told) for seed in (0, 1)]])
    assert (rate.name, latents.name) == ("rate", "information of each latent")
    width, height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    assert [points(line) for line in latents.lines] == [
        [(0.0, height), (width, 0.0)],
        [(0.0, height), (width, height / 2)],
    ]


def test_runs_without_a_history_have_no_panels(member):
    assert loss_panels([[member()]]) == []


def test_labels_that_do_not_touch_stay_where_they_are():
    assert spread_labels([10.0, 50.0, 30.0], distance=12.0) == [10.0, 50.0, 30.0]


def test_labels_that_touch_are_moved_apart_around_their_middle():
    assert spread_labels([10.0, 12.0], distance=12.0) == [5.0, 17.0]


@given(lists(floats(0, 100), max_size=7))
def test_labels_keep_their_distance_and_their_order(places):
    moved = spread_labels(places, distance=12.0)
    assert sorted(range(len(places)), key=lambda i: places[i]) == sorted(range(len(places)), key=lambda i: moved[i])
    ordered = sorted(moved)
    assert all(b - a > 12 - 1e-6 for a, b in itertools.pairwise(ordered))


def test_a_part_that_was_measured_now_and_then_has_a_line_through_those_steps(member):
    nan = math.nan
    rows = [(float(step), value, 1.0) for step, value in enumerate([nan, 2.0, nan, 4.0])]
    sparse = History(("step", "held_out_elbo", "loss"), rows)
    never = History(("step", "held_out_elbo", "loss"), [(float(step), nan, 1.0) for step in range(4)])
    held_out, _ = loss_panels([[member(history=sparse), member(seed=1, history=never)]])
    assert held_out.name == "ELBO of held-out images"
    assert [len(line.points.split()) for line in held_out.lines] == [2]


@given(lists(floats(-50, 150), max_size=7))
def test_labels_stay_between_the_ends_where_there_is_room(places):
    moved = sorted(spread_within(places, 12.0, 0.0, 100.0))
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in moved)
    assert all(b - a > 12 - 1e-6 for a, b in itertools.pairwise(moved))
