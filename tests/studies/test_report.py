"""The page of a study: the ranking of settings, which metrics agree, and what the page holds."""

import datetime
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from tests.studies.made_scores import made_scores
from tests.studies.test_study import SETTINGS
from unbraid.errors import UnbraidError
from unbraid.studies import Claim, Study, difference
from unbraid.studies.ranking import metric_agreement, rank_settings
from unbraid.studies.report import answer, strip_of, write_study_report

A, B = (setting.label for setting in SETTINGS)
LOW, HIGH = [0.10, 0.12, 0.14, 0.16, 0.18], [0.30, 0.33, 0.36, 0.39, 0.42]
SCORES = made_scores(
    {A: {"mig": LOW, "jemmig": [5, 4, 3, 2, 1]}, B: {"mig": HIGH, "jemmig": [0.5, 0.4, 0.3, 0.2, 0.1]}},
    {"jemmig": False},
    num_used=1,
)
CLAIM = Claim("4 beats 1.", difference("mig", B, A), above=0, central=True)
STUDY = Study("page", SETTINGS, "Is 4 <better> than 1?", ("mig", "jemmig"), claims=(CLAIM,))
DATE = datetime.date(2026, 1, 2)


def test_the_best_setting_is_compared_with_all_others():
    ranking = rank_settings(SCORES, "mig")
    assert [each.setting for each in ranking.settings] == [B, A]
    assert ranking.settings[1].comparison.p_supported == pytest.approx(2 / 252)  # one of two settings was chosen
    assert ranking.inseparable == []
    assert "10 of 10" in answer(ranking, SCORES)


def test_a_winner_is_not_tested_on_the_data_that_chose_it_alone():
    generator = np.random.default_rng(0)
    for num_seeds in (5, 6, 8):
        decided = 0
        for _ in range(400):
            scores = made_scores({label: {"mig": generator.normal(size=num_seeds)} for label in "ab"})
            decided += not rank_settings(scores, "mig").inseparable
        assert decided / 400 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_where_lower_is_better_the_lowest_is_best():
    ranking = rank_settings(SCORES, "jemmig")
    assert ranking.settings[0].setting == B
    assert ranking.settings[1].comparison.value < 0
    assert ranking.settings[1].comparison.verdict == "supported"


def test_settings_that_seeds_do_not_separate_have_the_seeds_that_would():
    scores = made_scores({"a": {"mig": [0.1, 0.3, 0.5]}, "b": {"mig": [0.2, 0.4, 0.45]}})
    ranking = rank_settings(scores, "mig")
    assert [each.setting for each in ranking.inseparable] == ["a"]
    assert ranking.inseparable[0].seeds_needed > 8
    assert f"{ranking.inseparable[0].seeds_needed} seeds" in answer(ranking, scores)


def test_a_metric_without_a_direction_has_no_best():
    assert rank_settings(made_scores({"a": {"mig": LOW}}, {"mig": None}), "mig") is None


def test_agreement_is_the_rank_correlation_by_direction():
    found = metric_agreement(SCORES, ["mig", "jemmig"])
    values = [[*LOW, *HIGH], [-5, -4, -3, -2, -1, -0.5, -0.4, -0.3, -0.2, -0.1]]
    assert found["mig"]["jemmig"] == pytest.approx(stats.spearmanr(*values).statistic)
    assert [found[name][name] for name in found] == pytest.approx([1, 1])


def places_on_strip(metric):
    """The horizontal places of the numbers of the axis by their text, and of the dots and medians by setting."""
    svg = ElementTree.fromstring(strip_of(SCORES, metric))
    ticks = {text.text: float(text.get("x")) for text in svg.findall("text")}
    rows = [[float(dot.get("cx")) for dot in row.iter("circle")] for row in svg.iter("g")]
    return ticks, rows, [float(row.find("line").get("x1")) for row in svg.iter("g")]


def test_a_dot_lies_where_its_value_does():
    ticks, rows, medians = places_on_strip("mig")
    assert rows[1][0] == pytest.approx(ticks["0"] + 0.30 * (ticks["1"] - ticks["0"]), abs=0.1)
    assert medians[1] == pytest.approx(ticks["0"] + 0.36 * (ticks["1"] - ticks["0"]), abs=0.1)


def test_an_axis_holds_values_beyond_one():
    ticks, rows, _ = places_on_strip("jemmig")
    assert all(min(ticks.values()) <= x <= max(ticks.values()) for row in rows for x in row)
    assert len(ticks) <= 7


def test_the_page_holds_the_answer_the_table_the_claims_and_the_command(tmp_path):
    command, made_by = "unbraid study run study.json", {"machine": "a laptop"}
    path = write_study_report(STUDY, SCORES, tmp_path / "page.html", made_by=made_by, command=command, date=DATE)
    page = path.read_text()
    assert "4 &lt;better&gt" in page
    assert re.search('class="verdict yes">supported</span> 4', page)
    for text in (f"{B} has the best median mig", "unbraid study run study.json", "a laptop", "0.360 (0.330 to 0.390)"):
        assert text in page
    assert "<script" not in page
    assert "form-action" in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_same_scores_give_the_same_bytes(tmp_path):
    pages = [write_study_report(STUDY, SCORES, tmp_path / name, date=DATE).read_bytes() for name in ("a", "b")]
    assert pages[0] == pages[1]


def test_a_study_without_scores_is_told(tmp_path):
    with pytest.raises(UnbraidError, match="'page'"):
        write_study_report(STUDY, replace(SCORES, numbers=()), tmp_path / "page.html")
