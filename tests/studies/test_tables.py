"""Tables of a study: every number in the long form, what a reader compares in the wide one."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.studies.made_scores import made_scores
from unbraid.errors import UnbraidError
from unbraid.studies.tables import factors_of, long_table, wide_latex, wide_markdown, wide_table

SCORES = made_scores(
    {"vae, |a_1|": {"mig": [0.1, 0.2, 0.4, None], "sap": [1, 2, 3, None]}, "beta-vae": {"mig": [0.5]}},
    {"sap": False},
    num_used=1,
)


def test_the_long_form_has_a_row_for_each_number_with_its_run():
    table = long_table(SCORES)
    assert len(table) == 7
    assert table[0]["setting"] == "vae, |a_1|"
    assert table[0]["run"] == "vae-vae,|a_1|-seed0"
    assert table[0]["low"] is None
    read = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert [float(row["value"]) for row in read if row["metric"] == "mig"] == [0.1, 0.2, 0.4, 0.5]


def test_the_wide_form_has_medians_quartiles_counts_and_how_runs_ended():
    row = wide_table(SCORES)[0]
    assert (row["seeds"], row["finished"], row["failed"], row["collapsed"]) == (4, 3, 1, 3)
    assert [row["mig q1"], row["mig"], row["mig q3"]] == np.percentile([0.1, 0.2, 0.4], [25, 50, 75]).tolist()
    assert row["mig n"] == 3
    assert wide_table(SCORES)[1]["sap"] is None


def test_markdown_shows_direction_spread_and_what_is_missing():
    text = wide_markdown(SCORES)
    assert "| setting |" in text
    assert "\\|a_1\\| | 3" in text
    assert "1, 1 collapsed" in text


def test_latex_has_the_rules_of_booktabs_and_no_bare_sign():
    text = wide_latex(SCORES, ["mig"])
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert "|a\\_1| & 3" in text
    assert r"mig $\uparrow$" in text


def test_a_part_of_a_metric_is_a_column_without_a_direction():
    scores = replace(SCORES, numbers=[number._replace(quantity="part", of="margin") for number in SCORES.numbers])
    assert "| setting |" in wide_markdown(scores, ["mig:margin"])
    assert r"mig:margin \\" in wide_latex(scores, ["mig:margin"])


def test_a_metric_that_the_study_does_not_have_is_refused():
    with pytest.raises(UnbraidError, match="no metric 'mgi'.*'mig'"):
        wide_table(SCORES, ["mgi"])


def test_tables_say_over_which_factors_a_score_is():
    [number, *_] = SCORES.numbers
    gaps = [number._replace(quantity="factor", of=name, value=gap) for name, gap in {"x": 0.1, "y": 0.2}.items()]
    constant = number._replace(quantity="factor", of="z", value=math.nan)
    other = number._replace(quantity="factor", of="w", scoring="held out")
    scores = replace(SCORES, numbers=(*SCORES.numbers, *gaps, constant, other))
    assert factors_of(scores) == ["Over x, y: mig."]
    assert wide_markdown(scores).endswith("\nOver x, y: mig.\n")
    assert "% Over x" in wide_latex(scores)
    assert factors_of(SCORES) == []
