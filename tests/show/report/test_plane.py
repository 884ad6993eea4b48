import itertools
from xml.etree import ElementTree

import pytest

from unbraid.objectives import BetaVAE
from unbraid.show.report.groups import group_members
from unbraid.show.report.measures import Measure
from unbraid.show.report.sweeps import rate_distortion_plot, sweeps_of
from unbraid.training.runs import History

MIG = Measure("mig", True, (0.0, 1.0))


def at(rate, distortion):
    return History(("step", "rate", "distortion"), [(1.0, rate, distortion)])


def swept(member):
    places = {1.0: (8.0, 20.0), 4.0: (4.0, 25.0), 16.0: (0.0, 40.0)}
    return [member(beta / 100, objective=BetaVAE(beta), history=at(*place)) for beta, place in places.items()]


def plane_of(members, measure=MIG):
    groups = group_members(members)
    return rate_distortion_plot(groups, sweeps_of(groups)[0], measure)


def labels(plane):
    texts = ElementTree.fromstring(plane.svg).iter("text")
    return [text for text in texts if (text.get("class") or "").startswith("end")]


def dots(plane):
    return list(ElementTree.fromstring(plane.svg).iter("circle"))


def test_a_sweep_is_a_path_through_its_models_with_its_values(member):
    made = plane_of(swept(member))
    (line,) = ElementTree.fromstring(made.svg).iter("polyline")
    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
    places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in dots(made)]
    assert points == [pytest.approx(place, abs=0.06) for place in places]
    assert [text.text for text in labels(made)] == ["1", "4", "16"]
    assert made.has_lines


def test_the_measure_colors_the_dots(member):
    made = plane_of(swept(member))
    assert [dot.get("style") for dot in dots(made)] == ["--share:0.0", "--share:0.2", "--share:1.0"]
    assert made.color_ends == (0.01, 0.16)
    lower = plane_of(swept(member), Measure("training-distortion", False))
    assert [dot.get("style") for dot in dots(lower)] == ["--share:1.0", "--share:0.75", "--share:0.0"]


def test_along_a_level_rate_plus_distortion_is_the_same(member):
    made = plane_of(swept(member))
    levels = [line for line in ElementTree.fromstring(made.svg).iter("line") if line.get("class") == "iso"]
    # Two models whose places give the scales: rate 8 at the first and 0 at the last, distortion 20 and 40.
    first, *_, last = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in dots(made)]
    assert levels
    for line in levels:
        ends = [(float(line.get(f"x{end}")), float(line.get(f"y{end}"))) for end in (1, 2)]
        rates = [8 * (x - last[0]) / (first[0] - last[0]) for x, _ in ends]
        distortions = [20 + 20 * (y - first[1]) / (last[1] - first[1]) for _, y in ends]
        assert rates[0] + distortions[0] == pytest.approx(rates[1] + distortions[1], abs=0.1)


def test_labels_do_not_lie_on_each_other(member):
    made = plane_of([member(0.1, objective=BetaVAE(b), history=at(4.0 + b / 1e4, 20.0)) for b in (1.0, 2.0, 3.0, 4e3)])
    places = [(float(text.get("x")), float(text.get("y"))) for text in labels(made)]
    assert all(abs(a[0] - b[0]) > 6 or abs(a[1] - b[1]) > 11 for a, b in itertools.combinations(places, 2))


def test_without_a_rate_there_is_no_plane(member):
    assert plane_of([member(0.1, seed=seed) for seed in range(4)]) is None
