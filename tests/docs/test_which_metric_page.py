"""The page on which metric to report, as the site shows it: every cell leads to its figure."""

import re
from dataclasses import replace

from benchmarks.audit import Audit
from benchmarks.audit.page import anchor, render
from docs.hooks.live import with_figures, with_verdict
from tests.discovery import ROOT
from unbraid._internal.names import kebab_case
from unbraid.metrics import DCI, MIG, SEPIN

PAGE = ROOT / "docs" / "which-metric.md"
KEPT = ROOT / "benchmarks" / "results" / "metric_audit.json"


def test_every_cell_of_its_tables_leads_to_the_figure_behind_it():
    text = with_figures(PAGE.read_text(encoding="utf-8"))
    links = set(re.findall(r"\]\(live/audit\.html(?:#([\w-]+))?\)", text))
    audit = Audit.from_json(KEPT.read_text(encoding="utf-8"))
    some = [one for one in audit.metrics if type(one.metric) in (DCI, MIG, SEPIN)]  # all of them take seconds
    drawn = set(re.findall(r' id="([^"]+)"', render(replace(audit, metrics=tuple(some)), "python -m benchmarks.audit")))
    wanted = {anchor(one.name, column) for one in some for column in ("", "range", "settings", "training")}
    assert wanted <= links & drawn
    assert {link for link in links if re.match("(dci|mig|sepin)(-|$)(?!sup)", link)} <= drawn
    assert "" in links  # the page as a whole
    assert [line for line in text.splitlines() if line.startswith("| `") and "%" in line] == []


def test_the_page_of_each_metric_says_what_the_audit_found():
    pages = {page.stem: with_verdict("", page.stem) for page in (ROOT / "docs" / "metrics").glob("*.md")}
    audited = {kebab_case(type(one.metric)) for one in Audit.from_json(KEPT.read_text(encoding="utf-8")).metrics}
    assert {name for name, text in pages.items() if text} == audited - {"cluster-accuracy"}
    assert "[`dci completeness`](../live/audit.html#dci-completeness)" in pages["dci"]
    assert "`dcies`" not in pages["dci"]
    assert "codes without labels" in pages["sepin"]
