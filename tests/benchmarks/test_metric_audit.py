"""The audit that the docs rest on."""

import pytest

from benchmarks.metric_audit import OUT, text_of
from unbraid.audit import Audit, rows_of


@pytest.fixture(scope="module")
def kept() -> Audit:
    return Audit.from_json(OUT.with_suffix(".json").read_text(encoding="utf-8"))


def test_the_tables_of_the_docs_are_those_of_the_kept_audit(kept):
    assert OUT.with_suffix(".md").read_text(encoding="utf-8") == text_of(kept)


@pytest.mark.parametrize(
    ("column", "mark", "names"),
    [
        ("copied", "good", "mig"),
        ("noise", "good", "mig"),
        ("copied", "bad", "mig-sup info-mec dci"),
        ("noise", "bad", "mig-sup info-mec"),
        ("dropped", "good", "explicitness downstream"),
        ("turned", "bad", "explicitness downstream"),
        ("dropped", "bad", "info-mec irs mig-sup minimality"),
        ("dependent", "bad", "mig"),
        ("dependent", "good", "minimality dci mcc"),
        ("measured", "good", "dci mcc"),
        ("settings", "bad", "sap jemmig modularity info-mec"),
    ],
)
def test_what_the_page_says_in_short_is_what_the_table_says(kept, column, mark, names):
    cells = {row.metric.name: row.cells for row in rows_of(kept) if row.metric.dress}
    assert {name: cells[name][column].mark for name in names.split()} == dict.fromkeys(names.split(), mark)
