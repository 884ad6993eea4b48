import itertools
import math
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis.strategies import floats, lists, text

from unbraid.show.pages.axis import Axis
from unbraid.show.pages.svg import Frame, element, swarm

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
