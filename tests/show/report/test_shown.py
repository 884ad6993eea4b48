import pytest

from unbraid.show.report.measures import Measure
from unbraid.show.report.shown import shown_members


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
