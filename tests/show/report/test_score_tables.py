import math
from dataclasses import replace

from unbraid.metrics import Score
from unbraid.show.report.groups import group_members
from unbraid.show.report.measures import Measure
from unbraid.show.report.score_tables import model_rows, setting_rows

SAP = Score("SAP", 0.25, (0.2, 0.3))
MEASURES = (Measure("mig"), Measure("sap"), Measure("training-distortion", False))


def test_a_single_model_shows_its_interval(member):
    (row,) = setting_rows(group_members([replace(member(0.5), scores={"sap": SAP})]), MEASURES)
    assert row.cells == (("0.500", ""), ("0.250", "0.200 to 0.300"), ("–", ""))


def test_several_models_show_their_median_and_range(member):
    members = [
        replace(member(0.5, seed=seed), scores={"sap": replace(SAP, value=value)})
        for seed, value in enumerate((0.1, 0.4, math.nan, 0.2))
    ]
    (row,) = setting_rows(group_members(members), MEASURES)
    assert row.cells[1] == ("0.200", "0.100 to 0.400")


def test_a_row_for_each_model_is_colored_by_the_first_measure(member):
    members = [member(0.2), member(0.4, seed=1), member(seed=2), member(0.3, seed=3)]
    (group,) = group_members(members)
    rows = model_rows([(m, group) for m in members], MEASURES, ["scale"])
    assert [row.share for row in rows] == [0.0, 1.0, 0.0, 0.5]
    assert [row.cells[0] for row in rows] == ["0.200", "0.400", "–", "0.300"]
    assert [row.number for row in rows] == [1, 2, 3, 4]
    assert rows[0].gaps == ("–",)
    downwards = [Measure("mig", False)]
    assert [row.share for row in model_rows([(m, group) for m in members], downwards, [])] == [1.0, 0.0, 0.0, 0.5]
