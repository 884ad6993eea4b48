import itertools

import pytest

from unbraid.objectives import BetaVAE
from unbraid.report.groups import group_members
from unbraid.report.measures import Measure
from unbraid.report.plane import plane
from unbraid.report.sweep_plot import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from unbraid.report.sweeps import sweeps_of
from unbraid.runs import History

MIG = Measure("mig", True, (0.0, 1.0))


def at(rate, distortion):
    return History(("step", "rate", "distortion"), [(1.0, rate, distortion)])


def swept(member):
    places = {1.0: (8.0, 20.0), 4.0: (4.0, 25.0), 16.0: (0.0, 40.0)}
    return [member(beta / 100, objective=BetaVAE(beta), history=at(*place)) for beta, place in places.items()]


def test_a_sweep_is_a_path_through_the_plane_with_its_values(member):
    groups = group_members(swept(member))
    made = plane(groups, sweeps_of(groups)[0], MIG)
    assert made.lines[0].points.split()[0] == f"{WIDTH - RIGHT},{HEIGHT - BOTTOM}"
    assert [text for *_, text, _ in made.labels] == ["1", "4", "16"]
    assert (made.x_ticks[0], made.y_ticks[-1]) == ((LEFT, "0"), (TOP, "40"))


def test_the_measure_colours_the_dots(member):
    made = plane(group_members(swept(member)), [], MIG)
    assert [dot.share for dot in made.dots] == [0.0, 0.2, 1.0]
    assert made.coloured == (0.01, 0.16)
    lower = plane(group_members(swept(member)), [], Measure("training-distortion", False))
    assert [dot.share for dot in lower.dots] == [1.0, 0.75, 0.0]


def test_along_a_level_rate_plus_distortion_is_the_same(member):
    made = plane(group_members(swept(member)), [], MIG)
    for x1, y1, x2, y2 in made.levels:
        rates = [8 * (x - LEFT) / (WIDTH - LEFT - RIGHT) for x in (x1, x2)]
        distortions = [20 + 20 * (HEIGHT - BOTTOM - y) / (HEIGHT - BOTTOM - TOP) for y in (y1, y2)]
        assert rates[0] + distortions[0] == pytest.approx(rates[1] + distortions[1], abs=0.1)


def test_labels_do_not_lie_on_each_other(member):
    close = [member(0.1, objective=BetaVAE(b), history=at(4.0 + b / 1e4, 20.0)) for b in (1.0, 2.0, 3.0, 4000.0)]
    groups = group_members(close)
    labels = plane(groups, sweeps_of(groups)[0], MIG).labels
    assert all(abs(a[0] - b[0]) > 6 or abs(a[1] - b[1]) > 11 for a, b in itertools.combinations(labels, 2))


def test_without_a_rate_there_is_no_plane(member):
    assert plane(group_members([member(0.1, seed=seed) for seed in range(4)]), [], MIG) is None
