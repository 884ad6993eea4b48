"""By which level a metric is judged, and what a fall at merged factors says."""

from dataclasses import replace

import pytest

from benchmarks.audit import rows_of
from benchmarks.audit.experiments import EXPERIMENTS
from benchmarks.audit.findings import Measurement
from tests.benchmarks.audit.made_audits import made


def cells(audit):
    [row] = rows_of(audit)
    return row.cells


def at_level(experiment, place, share):
    """The value of `mig` at a level between the first and the last."""
    design = list(EXPERIMENTS[experiment].levels.values())[place]
    return Measurement("drawn", design.words, 0, values={"mig": share})


def test_what_must_leave_a_metric_unmoved_is_judged_by_its_worst_level():
    dip = cells(made({"dependent": 0.98}, others=[at_level("dependent", 1, 0.7)]))["dependent"]
    assert (dip.text, dip.mark, dip.avoid) == ("70 %", "bad", "dependent factors")
    assert "0.5 (correlation" in dip.meaning
    rise = cells(made({"unused": 1.0}, others=[at_level("unused", 1, 1.15)]))["unused"]
    assert (rise.text, rise.mark) == ("115 %", "between")
    assert cells(made({"unused": 1.0}))["unused"].mark == "good"


def test_a_refusal_at_one_level_is_a_refusal():
    level = replace(at_level("dependent", 1, 0.0), values={}, refused={"mig": "No."})
    assert cells(made({"dependent": 1.0}, others=[level]))["dependent"].text == "refuses"


def test_a_fault_is_judged_where_it_is_greatest():
    found = cells(made({"dropped": 0.95}, others=[at_level("dropped", 1, 0.1)]))["dropped"]
    assert (found.text, found.mark) == ("95 %", "bad")


def test_a_metric_that_sees_bent_relations_is_judged_by_merged_factors():
    seen = cells(made({"merged": 0.45, "folded": 0.95}))["merged"]
    assert (seen.text, seen.mark, seen.use) == ("45 %", "good", "whether each latent holds one factor only")
    assert cells(made({"merged": 0.95, "folded": 0.0}))["merged"].mark == "bad"  # it does not fall, whatever it sees


@pytest.mark.parametrize("folded", [{"folded": 0.0}, {"folded": 0.85}, {}])
def test_a_metric_that_does_not_see_bent_relations_gets_no_tick_for_merged_factors(folded):
    found = cells(made({"merged": 0.45} | folded))["merged"]
    assert (found.text, found.mark, found.use, found.avoid) == ("–", "none", "", "")
