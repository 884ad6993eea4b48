from dataclasses import replace
from xml.etree import ElementTree

import pytest

from unbraid.objectives import VAE, BetaTCVAE, BetaVAE, FactorVAE
from unbraid.show.report.groups import group_members
from unbraid.show.report.measures import Measure
from unbraid.show.report.members import ReportedRun
from unbraid.show.report.sweeps import sweep_plot, sweeps_of
from unbraid.training.optimizers import Adam
from unbraid.training.runs import History, Run

MIG = Measure("mig", True, (0.0, 1.0))


def groups_of(member, objectives, mig=0.5):
    return group_members([member(mig, objective=objective, seed=seed) for objective in objectives for seed in (0, 1)])


def test_three_values_of_a_number_are_an_axis_and_each_family_a_line(member):
    swept = [cls(beta=b) for cls in (BetaVAE, BetaTCVAE) for b in (2.0, 8.0, 4.0)]
    (sweep,), others = sweeps_of(groups_of(member, [VAE(), *swept]))
    assert sweep.field == "--objective.beta"
    assert [(series[0][1].color, [at for at, _ in series]) for series in sweep.series] == [
        ("g1", [2.0, 4.0, 8.0]),
        ("g2", [2.0, 4.0, 8.0]),
    ]
    assert [group.label for group in others] == ["vae"]
    assert sweep.others == tuple(others)


def test_two_values_are_strips_as_before(member):
    groups = groups_of(member, [BetaVAE(2.0), BetaVAE(8.0)])
    assert sweeps_of(groups) == ([], groups)


def test_numbers_of_different_names_have_axes_of_their_own(member):
    objectives = [*map(BetaVAE, (1.0, 2.0, 4.0)), *(FactorVAE(gamma=g) for g in (1.0, 5.0, 10.0))]
    found, others = sweeps_of(group_members([member(0.1, objective=o) for o in objectives[:3]]))
    assert [sweep.field for sweep in found] == ["--objective.beta"]
    assert others == []


def test_what_differs_besides_makes_lines_of_its_own(member, spec):
    specs = [replace(spec(BetaVAE(b)), optimizer=Adam(rate)) for rate in (1e-3, 1e-4) for b in (1.0, 2.0, 4.0)]
    members = [ReportedRun(Run(member().run.folder, each, 0), History()) for each in specs]
    (sweep,), _ = sweeps_of(group_members(members))
    assert [len(series) for series in sweep.series] == [3, 3]


@pytest.mark.parametrize(
    ("values", "shares"),
    [
        ((1.0, 4.0, 16.0), [0.0, 0.5, 1.0]),  # far apart: by their logarithms
        ((1.0, 2.0, 5.0), [0.0, 0.25, 1.0]),
        ((0.0, 1.0, 100.0), [0.0, 0.5, 1.0]),  # zero has no logarithm
    ],
)
def test_values_that_are_far_apart_are_spaced_by_their_logarithms(member, values, shares):
    (sweep,), _ = sweeps_of(groups_of(member, map(BetaVAE, values)))
    assert [sweep.share(value) for value in values] == pytest.approx(shares)


def test_a_plot_has_a_dot_for_each_model_and_a_line_through_the_medians(member):
    swept = [member(m, objective=BetaVAE(b), seed=s) for b in (1.0, 2.0, 3.0) for s, m in enumerate((0.1, 0.3))]
    members = [replace(each, number=number) for number, each in enumerate([*swept, member(0.2)], 1)]
    (sweep,), _ = sweeps_of(group_members(members))
    plot = sweep_plot(sweep, MIG)
    svg = ElementTree.fromstring(plot.svg)
    assert sorted(int(dot.get("data-m")) for dot in svg.iter("circle")) == [1, 2, 3, 4, 5, 6]
    (line,) = svg.iter("polyline")
    heights = {point.split(",")[1] for point in line.get("points").split()}
    (level,) = (each for each in svg.iter("line") if each.get("class") == "level")
    assert heights == {f"{float(level.get('y1')):.1f}"}  # all medians are 0.2, as that of the setting beside the sweep
    texts = [text.text for text in svg.iter("text")]
    assert {"1", "2", "3", "vae", "--objective.beta", "MIG ↑"} <= set(texts)
    assert plot.has_levels


def test_names_of_levels_lie_apart(member):
    swept = [member(0.3, objective=BetaVAE(b)) for b in (1.0, 2.0, 3.0)]
    members = [*swept, member(0.2), member(0.2, objective=BetaTCVAE(beta=2.0))]
    (sweep,), _ = sweeps_of(group_members(members))
    texts = ElementTree.fromstring(sweep_plot(sweep, MIG).svg).iter("text")
    first, second = sorted(float(text.get("y")) for text in texts if text.get("class") == "level-text")
    assert second - first >= 12
