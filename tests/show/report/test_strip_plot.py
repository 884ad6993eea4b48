from dataclasses import replace
from xml.etree import ElementTree

import pytest

from unbraid.objectives import BetaVAE
from unbraid.show.report.groups import group_members
from unbraid.show.report.measures import Measure
from unbraid.show.report.strip_plot import score_strips

MIG = Measure("mig", True, (0.0, 1.0))


def plot_of(*members, shown=()):
    roles = {id(member): role for role, member in dict(shown).items()}
    numbered = [replace(each, number=number, role=roles.get(id(each))) for number, each in enumerate(members, 1)]
    return score_strips(group_members(numbered), MIG)


def dots(plot, place=0):
    """The dots of a strip: the number of the model, its place in percent, and its title."""
    strip = ElementTree.fromstring(plot.strips[place][1])
    found = [dot for dot in strip.iter("circle") if dot.get("data-m")]
    return [(int(dot.get("data-m")), float(dot.get("cx").rstrip("%")), dot[0].text) for dot in found]


def texts(svg, kind=""):
    return [text.text for text in ElementTree.fromstring(svg).iter("text") if (text.get("class") or "") == kind]


def test_a_dot_stands_where_its_value_is_and_has_a_title(member):
    plot = plot_of(member(0.0), member(0.5, seed=1), member(1.0, seed=2))
    (_, low, _), (number, middle, title), (_, high, _) = dots(plot)
    assert middle - low == pytest.approx(high - middle)
    assert (number, title) == (2, "seed 1: MIG 0.500")
    assert texts(plot.strips[0][1], "median-text") == ["median 0.500"]
    assert texts(plot.axis)[0] == "0"


def test_mig_is_drawn_from_zero_however_high_it_is(member):
    assert texts(plot_of(member(0.81), member(0.83, seed=1)).axis)[0] == "0"


def test_all_strips_share_one_axis(member):
    other = [member(0.2, objective=BetaVAE()), member(0.8, seed=1, objective=BetaVAE())]
    plot = plot_of(member(0.2), *other)
    assert dots(plot, 0)[0][1] == dots(plot, 1)[0][1]


def test_the_members_that_are_shown_in_full_are_marked(member):
    best, worst = member(0.5), member(0.1, seed=1)
    plot = plot_of(best, worst, shown={"best": best, "worst": worst})
    strip = plot.strips[0][1]
    assert sorted(title for *_, title in dots(plot)) == ["best: seed 0: MIG 0.500", "worst: seed 1: MIG 0.100"]
    assert strip.count('class="ring"') == 2


def test_a_member_without_a_value_has_no_dot(member):
    plot = plot_of(member(), member(0.3, seed=1), member(objective=BetaVAE()))
    assert [[number for number, *_ in dots(plot, place)] for place in (0, 1)] == [[2], []]


def test_many_dots_at_one_place_do_not_make_the_strip_a_tower(member):
    strip = plot_of(*(member(0.5, seed=seed) for seed in range(40))).strips[0][1]
    assert float(ElementTree.fromstring(strip).get("height")) < 160


def test_noise_does_not_fill_the_axis(member):
    assert texts(plot_of(member(1e-9), member(3e-9, seed=1)).axis)[-2] == "0.06"


def test_a_collapsed_model_is_hollow(member):
    used, collapsed = member(0.5), member(0.1, seed=1)
    object.__setattr__(collapsed, "num_unused", 3)
    drawn = ElementTree.fromstring(plot_of(used, collapsed).strips[0][1]).iter("circle")
    assert {dot.get("data-m"): "hollow" in dot.get("class") for dot in drawn} == {"1": False, "2": True}
