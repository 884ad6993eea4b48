"""The audit that the docs rest on."""

import pytest

from benchmarks.audit import Audit, rows_of
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


def test_a_code_of_two_factors_in_each_latent_is_perfect_to_scores_of_factors_alone(cells):
    assert min(cells[name]["merged"].value for name in ("mig", "minimality sufficiency")) > 0.95
    assert max(cells[name]["merged"].value for name in ("mig-sup", "dcimig")) < 0.05
    bent = [marks for marks in cells.values() if marks["folded"].mark == "good"]
    assert not any(marks["copied"].mark == marks["merged"].mark == "good" for marks in bent)  # so one is not enough


def test_the_metrics_of_the_library_are_in_it(kept):
    assert len({type(one.metric) for one in kept.metrics} & set(registry().values())) > 30
    assert kept.has_training
