import datetime
import math
from dataclasses import replace

from unbraid.metrics import Score
from unbraid.report.all_scores import all_scores
from unbraid.report.groups import group_members
from unbraid.report.members import read_members
from unbraid.report.report import render

SAP = Score("SAP", 0.25, (0.2, 0.3), settings={"classifier": "svm"})
MIG = Score("MIG", 0.5, settings={"estimator": "exact", "quadrature": "direct"})


def test_mig_alone_needs_no_second_table(member):
    assert all_scores(group_members([replace(member(0.5), scores=(MIG,))])) == []


def test_a_single_model_shows_its_interval(member):
    first, second = all_scores(group_members([replace(member(0.5), scores=(MIG, SAP))]))
    assert (first.metric, first.better, first.cells) == ("MIG", "↑", (("0.500", ""),))
    assert (second.metric, second.settings, second.cells) == ("SAP", "", (("0.250", "0.200 to 0.300"),))


def test_several_models_show_their_median_and_range(member):
    members = [
        replace(member(0.5, seed=seed), scores=(replace(SAP, value=value),))
        for seed, value in enumerate((0.1, 0.4, math.nan, 0.2))
    ]
    (row,) = all_scores(group_members(members))
    assert row.cells == (("0.200", "0.100 to 0.400"),)


def test_settings_are_told_where_they_differ_and_the_quadrature_makes_no_difference(member):
    binned = replace(MIG, settings={"estimator": "exact", "quadrature": "binned"})
    scores = (MIG, replace(MIG, settings={"estimator": "quantised"}), SAP)
    members = [replace(member(0.5), scores=scores), replace(member(0.5, seed=1), scores=(binned,))]
    assert [row.settings for row in all_scores(group_members(members))] == [
        "estimator exact",
        "estimator quantised",
        "",
    ]


def test_the_page_shows_them(trained):
    members = [replace(found, scores=(*found.scores, SAP)) for found in read_members(trained)]
    page = render(members, [], None, datetime.date(2024, 1, 1))
    assert "Every score" in page
    assert '<th scope="row">SAP</th>' in page
