import math
from dataclasses import replace

import pytest

from unbraid.errors import SpecError
from unbraid.metrics import Score
from unbraid.show.report.measures import Measure, measures_of, shown_members
from unbraid.training.runs import History

MIG = Measure("mig", True, (0.0, 1.0))


def parts(distortion, rate=1.0):
    return History(("step", "distortion", "rate"), [(1.0, distortion, rate)])


def test_members_are_ordered_best_first_and_those_without_a_value_last(member):
    members = [member(), member(0.1), member(0.7), member(0.3)]
    assert [m.mig.value for m in MIG.order(members)[:3]] == [0.7, 0.3, 0.1]
    assert MIG.order(members)[3] is members[0]


def test_where_lower_is_better_the_lowest_comes_first(member):
    members = [member(history=parts(d)) for d in (3.0, 1.0, 2.0)]
    (distortion,) = (m for m in measures_of(members) if m.name == "training-distortion")
    assert [m.distortion for m in distortion.order(members)] == [1.0, 2.0, 3.0]


def test_mig_comes_first_and_the_log_last(member):
    scored = replace(member(0.1, history=parts(1.0)), scores={"sap": Score("SAP", 0.2)})
    assert [m.name for m in measures_of([scored, member(0.2)])] == [
        *("mig", "sap", "training-elbo", "training-distortion", "training-rate")
    ]
    assert [m.name for m in measures_of([scored], by="SAP ")][:2] == ["sap", "mig"]


def test_without_any_mig_the_elbo_orders(member):
    assert measures_of([member(history=parts(1.0)), member()])[0] == Measure("training-elbo", True)
    assert [m.name for m in measures_of([member()])] == ["training-elbo"]


def test_what_is_not_scored_cannot_order_and_says_how_to_score_it(member):
    with pytest.raises(SpecError, match="RUNS --metrics sap`"):
        measures_of([member(0.1)], by="sap")


def test_a_measure_knows_its_direction_and_its_ends(member):
    scores = {"sap": Score("SAP", 0.2), "mine": Score("Mine", 3.0)}
    _, sap, mine, *_ = measures_of([replace(member(0.1), scores=scores)])
    assert (sap.higher_is_better, sap.bounds, sap.title) == (True, (0.0, 1.0), "SAP ↑")
    assert (mine.higher_is_better, mine.bounds) == (True, (-math.inf, math.inf))


def test_values_have_as_many_decimals_as_one_compares():
    assert [MIG.text(v) for v in (0.12345, -0.5, 1e-17, 1234.56, math.nan)] == [
        "0.123",
        "−0.500",
        "0.000",
        "1,234.6",
        "–",
    ]


def test_the_best_is_colored_strongest_and_noise_not_at_all():
    assert MIG.shares([0.2, math.nan, 0.6, 0.3]) == [0.0, 0.0, 1.0, 0.25]
    assert Measure("error", False).shares([0.0, 4.0, 1.0]) == [1.0, 0.0, 0.75]
    assert MIG.shares([1e-9, 2e-10]) == [0.0, 0.0]
    assert MIG.shares([math.nan]) == [0.0]
    assert MIG.color_ends([0.2, 0.6]) == (0.2, 0.6)


@pytest.mark.parametrize(
    ("migs", "roles"),
    [
        ([0.3], {"only": 0.3}),
        ([0.3, 0.5], {"best": 0.5, "worst": 0.3}),
        ([0.3, 0.5, 0.4], {"best": 0.5, "middle": 0.4, "worst": 0.3}),
        ([0.1, 0.2, 0.3, 0.4], {"best": 0.4, "middle": 0.2, "worst": 0.1}),
    ],
)
def test_best_middle_and_worst_are_shown_as_far_as_there_are(member, migs, roles):
    shown = shown_members([member(mig) for mig in migs], Measure("mig"))
    assert {role: m.mig.value for role, m in shown.items()} == roles


def test_members_without_a_value_are_shown_only_where_none_has_one(member):
    known, unknown = member(0.2), member()
    assert shown_members([unknown, known], Measure("mig")) == {"only": known}
    assert shown_members([unknown], Measure("mig")) == {"only": unknown}
