"""What a study says: the best setting, how sure, and which metrics agree; and the page that shows it."""

import datetime
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.studies.made_scores import made_scores
from tests.studies.test_study import SETTINGS
from unbraid.errors import UnbraidError
from unbraid.studies import Higher, Study
from unbraid.studies.answers import agreement_of, ranking_of
from unbraid.studies.report import answer, render, write_study_report
from unbraid.studies.strips import strip_of

A, B = (setting.label for setting in SETTINGS)
LOW, HIGH = [0.10, 0.12, 0.14, 0.16, 0.18], [0.30, 0.33, 0.36, 0.39, 0.42]
SCORES = made_scores(
    {A: {"mig": LOW, "jemmig": [5, 4, 3, 2, 1]}, B: {"mig": HIGH, "jemmig": [0.5, 0.4, 0.3, 0.2, 0.1]}},
    {"jemmig": False},
    num_used=1,
)
STUDY = Study("page", SETTINGS, "Is 4 <better> than 1?", ("mig", "jemmig"), claims=(Higher("4 beats 1.", "mig", B, A),))
DATE = datetime.date(2026, 1, 2)


def test_the_best_setting_is_compared_with_all_others():
    ranking = ranking_of(SCORES, "mig")
    assert [rival.setting for rival in ranking.rivals] == [B, A]
    assert ranking.best.chance_to_win == 1
    assert ranking.rivals[1].p_among_all == pytest.approx(1 / 252)
    assert ranking.inseparable == []
    assert "significantly above all others" in answer(ranking, SCORES)
    assert "10 of 10 runs are collapsed" in answer(ranking, SCORES)


def test_where_lower_is_better_the_lowest_is_best():
    ranking = ranking_of(SCORES, "jemmig")
    assert ranking.best.setting == B
    assert ranking.rivals[1].comparison.shift.value > 0


def test_settings_that_seeds_do_not_separate_are_named_with_the_seeds_that_would():
    scores = made_scores({"a": {"mig": [0.1, 0.3, 0.5]}, "b": {"mig": [0.2, 0.4, 0.45]}})
    said = answer(ranking_of(scores, "mig"), scores)
    assert "do not separate it from a" in said
    assert "seeds each would" in said


def test_a_metric_without_a_direction_has_no_best():
    assert ranking_of(made_scores({"a": {"mig": LOW}}, {"mig": None}), "mig") is None


def test_agreement_is_the_rank_correlation_by_direction():
    found = agreement_of(SCORES, ["mig", "jemmig"])
    values = [[*LOW, *HIGH], [-5, -4, -3, -2, -1, -0.5, -0.4, -0.3, -0.2, -0.1]]
    assert found.correlations[0, 1] == pytest.approx(stats.spearmanr(*values).statistic)
    assert np.allclose(np.diag(found.correlations), 1)
    assert found.pairs() == [("mig", "jemmig", pytest.approx(found.correlations[0, 1]))]


def test_a_dot_lies_where_its_value_does():
    strip = strip_of(SCORES, "mig")
    left, right = (next(x for x, text in strip.ticks if text == end) for end in ("0", "1"))
    assert strip.rows[1].xs[0] == pytest.approx(left + 0.30 * (right - left), abs=0.1)
    assert strip.rows[1].median == pytest.approx(left + 0.36 * (right - left), abs=0.1)


def test_an_axis_holds_values_beyond_one():
    strip = strip_of(SCORES, "jemmig")
    assert all(170 <= x <= 620 for row in strip.rows for x in row.xs)
    assert len(strip.ticks) <= 6


def test_the_page_holds_the_answer_the_table_the_claims_and_the_command():
    page = render(STUDY, SCORES, {"machine": "a laptop"}, "unbraid study run study.json", DATE)
    assert "Is 4 &lt;better&gt; than 1?" in page
    assert re.search(r'class="verdict yes">reproduced</span> 4 beats 1\.', page)
    for text in (f"{B} has the best median mig", "unbraid study run study.json", "a laptop", "0.360 (0.330 to 0.390)"):
        assert text in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_same_scores_give_the_same_bytes(tmp_path):
    pages = [write_study_report(STUDY, SCORES, tmp_path / name, date=DATE).read_bytes() for name in ("a", "b")]
    assert pages[0] == pages[1]


def test_a_study_without_scores_is_told(tmp_path):
    with pytest.raises(UnbraidError, match="scored yet"):
        write_study_report(STUDY, replace(SCORES, numbers=()), tmp_path / "page.html")
