"""The audit that the docs rest on."""

import pytest

from benchmarks.audit import Audit, rows_of
from benchmarks.audit.experiments import EXPERIMENTS
from benchmarks.metric_audit import OUT, text_of
from unbraid.metrics.selection import registry


@pytest.fixture(scope="module")
def kept() -> Audit:
    return Audit.from_json(OUT.with_suffix(".json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def cells(kept):
    """The cells of each row by its name."""
    return {row.metric.name: row.cells for row in rows_of(kept) if row.metric.dress}


def test_the_tables_of_the_docs_are_those_of_the_kept_audit(kept):
    assert OUT.with_suffix(".md").read_text(encoding="utf-8") == text_of(kept)


@pytest.mark.parametrize(
    ("columns", "mark", "names"),
    [
        ("range redrawn turned copied dropped noise unused width folded training", "good", "mig"),
        ("merged dependent measured", "bad", "mig"),
        ("turned merged", "good", "mig-sup, info-mec, minimality"),
        ("dependent measured", "bad", "mig-sup"),
        ("turned dropped noise unused dependent", "good", "minimality sufficiency"),
        ("copied merged", "bad", "minimality sufficiency"),
        ("dependent", "good", "minimality"),
        ("copied dependent", "good", "dci:forest completeness"),
        ("dropped merged", "bad", "dci:forest completeness"),
        ("turned dropped merged noise unused dependent measured folded", "good", "dci:forest"),
        ("width", "bad", "dci:forest, dci:forest completeness, dci:forest test error"),
        ("dropped dependent folded training", "good", "dci:forest test error"),
        ("turned copied merged", "bad", "dci:forest test error"),
        ("dropped dependent training", "good", "info-mec explicitness, downstream"),
        ("turned copied folded", "bad", "info-mec explicitness, downstream"),
        ("dropped copied noise", "bad", "mig-sup, info-mec, minimality"),
        ("turned dropped merged", "good", "dcimig"),
        ("copied dependent measured", "bad", "dcimig"),
        ("merged", "none", "dci, mcc, downstream"),
        ("settings", "bad", "dci, dci:forest"),
        ("turned copied", "bad", "factor-vae-score, zdiff"),
        ("redrawn", "bad", "sap"),
        ("unused", "bad", "modularity"),
        ("range", "bad", "dcies"),
        ("dependent", "good", "minimality, dci, mcc"),
        ("settings", "bad", "sap, jemmig, modularity, info-mec, med"),
        ("training", "good", "downstream, mig, dci test error, elbo-decomposition, lemma2-gap"),
        ("redrawn settings", "none", "factor-vae-score"),
    ],
)
def test_what_the_page_says_in_short_is_what_the_table_says(cells, columns, mark, names):
    for name in names.split(", "):
        assert {column: cells[name][column].mark for column in columns.split()} == dict.fromkeys(columns.split(), mark)


def test_a_code_of_two_factors_in_each_latent_is_perfect_to_scores_of_factors_alone(cells):
    assert min(cells[name]["merged"].value for name in ("mig", "minimality sufficiency")) > 0.95
    assert max(cells[name]["merged"].value for name in ("mig-sup", "dcimig")) < 0.05
    bent = [marks for marks in cells.values() if marks["folded"].mark == "good"]
    assert not any(marks["copied"].mark == marks["merged"].mark == "good" for marks in bent)  # so one is not enough


def test_what_the_page_says_in_numbers_is_what_was_measured(kept, cells):
    assert cells["modularity"]["unused"].value < 0  # below noise
    assert 0.15 < cells["sap"]["redrawn"].value < 0.25  # a fifth
    assert max(cells[name]["training"].value for name in ("minimality", "info-mec")) < 0.65  # little more than chance
    [dcies] = [one for one in kept.metrics if one.name == "dcies"]
    folded = EXPERIMENTS["folded"]
    assert [f"{kept.mean(dcies, level):.2f}" for level in (folded.first, folded.last)] == ["0.72", "0.59"]


def test_the_metrics_of_the_library_are_in_it(kept):
    assert len({type(one.metric) for one in kept.metrics} & set(registry().values())) > 30
    assert kept.has_training
