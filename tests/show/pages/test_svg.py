import itertools
import math
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis.strategies import floats, lists, text

from unbraid.figures import family_look
from unbraid.show.pages.svg import Axis, Frame, element, family_class, rounded_text, swarm, tick_text

FRAME = Frame(width=100, height=50, left=20, right=10, top=5, bottom=15)


@given(text(), text())
def test_no_text_and_no_attribute_ends_its_element(content, label):
    drawn = element("text", f"<b>{content}", aria_label=f'"{label}"')
    assert "<b>" not in drawn
    assert drawn.count('"') == 2


def test_attributes_without_a_value_are_left_out():
    assert (
        element("circle", class_="dot", r=3.0, style=None, stroke_width=1)
        == '<circle class="dot" r="3" stroke-width="1"/>'
    )


def test_a_frame_maps_shares_to_its_inside():
    assert [FRAME.x(0), FRAME.x(1), FRAME.y(0), FRAME.y(1)] == [20, 90, 35, 5]
    svg = ElementTree.fromstring(FRAME.svg(FRAME.y_axis(Axis((0.0, 1.0, 2.0))), label="a < b"))
    assert [each.text for each in svg.iter("text")] == ["0", "1", "2"]
    assert svg.get("aria-label") == "a < b"


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


def test_many_dots_do_not_overlap():
    places = [x / 20 for x in range(2000)]
    dots = sorted(zip(places, swarm(places, diameter=3.0), strict=True))
    near = [(one, other) for i, one in enumerate(dots) for other in dots[i + 1 : i + 61]]
    assert all(math.dist(one, other) > 3 - 1e-6 for one, other in near)


def test_a_rounded_zero_has_no_sign():
    assert rounded_text(-0.001) == rounded_text(0.0) == "0"


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


def test_a_family_has_one_color_however_it_is_spelt():
    assert family_class("beta-VAE") == family_class("BetaVAE") == "g1"
    assert family_class("vae") == "g0"


def test_past_the_last_color_they_come_again_dashed():
    assert family_class("annealed-vae") == "g0 again"


def test_pages_and_figures_number_their_colors_alike():
    families = ("vae", "beta-vae", "beta-tcvae", "factor-vae", "annealed-vae", "my own")
    by_class = {family_class(name).split()[0]: family_look(name).color for name in families}
    assert all(by_class[family_class(name).split()[0]] == family_look(name).color for name in families)
