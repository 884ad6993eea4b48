"""The page on which metric to report, as the site shows it: every cell leads to its figure."""

import json
import re

from docs.hooks.live import with_figures, with_verdict
from tests.discovery import ROOT
from unbraid.audit import Audit
from unbraid.audit.page import render

PAGE = ROOT / "docs" / "which-metric.md"
KEPT = ROOT / "benchmarks" / "results" / "metric_audit.json"


def test_every_cell_of_its_tables_leads_to_the_figure_behind_it():
    text = with_figures(PAGE.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(live/audit\.html(?:#([\w-]+))?\)", text)
    audit = Audit.from_json(KEPT.read_text(encoding="utf-8"))
    anchors = set(re.findall(r' id="([^"]+)"', render(audit, "unbraid audit")))
    assert set(links) - anchors == {""}  # the page as a whole
    num_rows = sum(bool(one["dress"]) for one in json.loads(KEPT.read_text(encoding="utf-8"))["metrics"])
    assert {link.rpartition("-")[0] for link in links} >= {"mig", "dci", "snc-knock-out"}
    assert len(links) > 7 * num_rows
    assert [line for line in text.splitlines() if line.startswith("| `") and "%" in line] == []


def test_the_page_of_each_metric_says_what_the_audit_found():
    pages = {page.stem: with_verdict("", page.stem) for page in (ROOT / "docs" / "metrics").glob("*.md")}
    assert {name for name, text in pages.items() if not text} == {"index", "published", "cluster-accuracy"}
    assert "[`dci completeness`](../live/audit.html#dci-completeness)" in pages["dci"]
    assert "`dcies`" not in pages["dci"]
    assert "codes without labels" in pages["sepin"]
