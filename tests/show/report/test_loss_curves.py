import itertools
import math
from xml.etree import ElementTree

import pytest

from unbraid.objectives import BetaVAE
from unbraid.show.report.groups import group_members
from unbraid.show.report.loss_curves import loss_panels, mean_curve
from unbraid.training.runs import History


def history(values, part="rate"):
    return History(("step", part), [(100.0 * step, value) for step, value in enumerate(values)])


def panels_of(*members):
    return loss_panels(group_members(members))


def lines(panel, kind):
    drawn = ElementTree.fromstring(panel.svg).iter("polyline")
    return [line.get("points") for line in drawn if line.get("class").startswith(kind)]


def heights(points):
    return [float(point.split(",")[1]) for point in points.split()]


def texts(panel):
    return [text.text for text in ElementTree.fromstring(panel.svg).iter("text")]


def test_the_thick_line_is_the_median_of_the_thin_ones_and_its_end_is_written(member):
    (panel,) = panels_of(*(member(seed=s, history=history([v, v])) for s, v in enumerate([0.0, 1.0, 4.0])))
    assert len(lines(panel, "thin")) == 3
    assert lines(panel, "thick") == lines(panel, "thin")[1:2]
    assert "1.00" in texts(panel)
    assert "vae 1.00" in panel.svg


def test_a_line_rises_with_its_values_and_the_axis_ends_where_training_did(member):
    (panel,) = panels_of(member(history=History(("step", "rate"), [(0.0, 1.0), (800.0, 3.0), (1600.0, 2.0)])))
    first, highest, last = heights(*lines(panel, "thick"))
    assert highest < last < first  # from the top
    assert "1.6k steps" in texts(panel)


def test_every_part_has_a_panel_and_the_loss_comes_last(member):
    of_one = History(("step", "loss", "distortion"), [(1.0, 2.0, 3.0)])
    of_other = History(("step", "loss", "my_penalty"), [(1.0, 2.0, 3.0)])
    panels = panels_of(member(history=of_one), member(objective=BetaVAE(), history=of_other))
    assert [panel.name for panel in panels] == ["distortion", "my penalty", "loss"]
    assert [len(lines(panel, "thick")) for panel in panels] == [1, 1, 2]


def test_a_long_history_is_averaged_over_stretches():
    steps, values = mean_curve(history([0.0, 1.0] * 400), "rate", 80)
    assert values.tolist() == [0.5] * 80
    assert steps[0] == pytest.approx(450)
    assert mean_curve(history([1.0]), "loss", 80).size == 0


def test_the_first_steps_may_leave_the_plot(member):
    (panel,) = panels_of(member(history=history([1000.0] * 10 + [5.0, 6.0] * 395)))
    assert "1k" not in texts(panel)
    assert heights(*lines(panel, "thick"))[0] < 0


def test_the_numbers_at_the_ends_lie_apart_and_inside(member):
    values = {1: 0.0, 2: 0.01, 4: 4.0}
    (panel,) = panels_of(*(member(objective=BetaVAE(float(b)), history=history([0.0, v])) for b, v in values.items()))
    ends = [text for text in ElementTree.fromstring(panel.svg).iter("text") if text.get("class", "").startswith("end")]
    assert [text.text for text in ends] == ["0.00", "0.01", "4.00"]
    places = sorted(float(text.get("y")) for text in ends)
    assert all(b - a >= 12 for a, b in itertools.pairwise(places))
    assert 0 <= places[0] <= places[-1] <= 190


def test_of_many_members_only_the_medians_are_drawn(member):
    (panel,) = panels_of(*(member(seed=s, history=history([1.0, 2.0])) for s in range(30)))
    assert (len(lines(panel, "thin")), len(lines(panel, "thick"))) == (0, 1)


def test_latents_share_a_panel_with_a_line_for_each_of_the_first_seed(member):
    columns = ("step", "rate", "information_z0", "information_z1")
    logged = History(columns, [(0.0, 1.0, 0.0, 0.0), (50.0, 1.0, math.nan, math.nan), (100.0, 1.0, 2.0, 1.0)])
    rate, latents = panels_of(*(member(seed=seed, history=logged) for seed in (0, 1)))
    assert (rate.name, latents.name) == ("rate", "information of each latent")
    first, second = map(heights, lines(latents, "thin"))
    assert first[0] == second[0] > second[1] > first[1]


def test_runs_without_a_history_have_no_panels(member):
    assert panels_of(member()) == []


def test_a_part_that_was_measured_now_and_then_has_a_line_through_those_steps(member):
    nan = math.nan
    rows = [(float(step), value, 1.0) for step, value in enumerate([nan, 2.0, nan, 4.0])]
    sparse = History(("step", "held_out_elbo", "loss"), rows)
    never = History(("step", "held_out_elbo", "loss"), [(float(step), nan, 1.0) for step in range(4)])
    held_out, _ = panels_of(member(history=sparse), member(seed=1, history=never))
    assert held_out.name == "ELBO of held-out images"
    assert [len(line.split()) for line in lines(held_out, "thick")] == [2]
