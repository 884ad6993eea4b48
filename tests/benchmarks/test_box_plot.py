"""The plot shows every value, and says of each group what its median is."""

from xml.etree import ElementTree

import pytest

from benchmarks.box_plot import HEIGHT, WIDTH, Summary, box_plot

SVG = "{http://www.w3.org/2000/svg}"
GROUPS = {"VAE": [0.1, 0.2, 0.4], "β < 4": [0.5], "none": []}


def drawn(groups=GROUPS, highest=0.6):
    return ElementTree.fromstring(box_plot(groups, title="A & B", subtitle="some", label="MIG", highest=highest))


def test_a_summary_is_the_quartiles_between_the_extremes():
    assert Summary.of([4.0, 1.0, 2.0, 3.0, 5.0]) == Summary(1.0, 2.0, 3.0, 4.0, 5.0)
    assert Summary.of([2.0]) == Summary(2.0, 2.0, 2.0, 2.0, 2.0)


def test_every_value_is_a_dot_within_the_picture():
    dots = drawn().findall(f"{SVG}circle")
    assert [dot.find(f"{SVG}title").text for dot in dots] == ["0.100", "0.200", "0.400", "0.500"]
    assert all(0 < float(dot.get("cx")) < WIDTH and 0 < float(dot.get("cy")) < HEIGHT for dot in dots)
    heights = [float(dot.get("cy")) for dot in dots]
    assert heights == sorted(heights, reverse=True)


def test_groups_are_named_with_their_medians():
    texts = [text.text for text in drawn().findall(f"{SVG}text")]
    assert {"A & B", "VAE", "β < 4", "none", "3 seeds", "0 seeds", "0.20", "0.50"} <= set(texts)


@pytest.mark.parametrize(("highest", "last"), [(0.6, "0.6"), (0.3, "0.5")])
def test_the_axis_reaches_what_is_asked_for_or_the_greatest_value(highest, last):
    ticks = [text.text for text in drawn(highest=highest).findall(f"{SVG}text") if text.get("text-anchor") == "end"]
    assert (ticks[0], ticks[-1]) == ("0", last)
