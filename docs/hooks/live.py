"""Makes the pages that others embed or lead to: explorers, of what models they hold and of the scripts as they are now,
and the audit of metrics with its figures. And gives the home page, which shows an explorer, the whole width.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

from mkdocs.structure.files import File, Files

from benchmarks.audit import Audit, Row, rows_of
from benchmarks.audit.markdown import number_table, verdict_table
from benchmarks.audit.page import render as render_audit
from unbraid.metrics.metric import Feature
from unbraid.metrics.selection import registry
from unbraid.show.explorer.explorer import render_explorer

_KEPT = Path(__file__).parents[2] / "benchmarks" / "results" / "metric_audit.json"
_AUDIT = "live/audit.html"
_FEATURES = "<!-- table: what each metric takes -->"
_WRITTEN = "the page that `python -m benchmarks.audit` writes"


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Called by mkdocs with all files of the site."""
    for content in sorted(Path(config["docs_dir"]).glob("live/*.json")):
        page = render_explorer(json.loads(content.read_text()))
        files.append(File.generated(config, f"live/{content.stem}.html", content=page))
    files.append(File.generated(config, _AUDIT, content=render_audit(_kept(), "python -m benchmarks.audit")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Called by mkdocs with each page's text."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    if page.file.src_uri == "which-metric.md":
        page.meta["hide"] = ["navigation", "toc"]
        return with_figures(markdown)
    if page.file.src_uri == "scorecard.md":
        return markdown.replace(_FEATURES, feature_table())
    folder, _, name = page.file.src_uri.removesuffix(".md").rpartition("/")
    return with_verdict(markdown, name) if folder == "metrics" else markdown


def with_figures(markdown: str) -> str:
    """Returns the page "which metric" with a link from each table cell to its figure on the audit page."""
    for table in (number_table, verdict_table):
        for needs_factors in (True, False):
            plain = table(_rows(), needs_factors=needs_factors).strip()
            linked = table(_rows(), needs_factors=needs_factors, page=_AUDIT).strip()
            if table is number_table:
                linked = f'<div class="audit-numbers" markdown>\n\n{linked}\n\n</div>'
            markdown = markdown.replace(plain, linked)
    return markdown.replace(_WRITTEN, f"[{_WRITTEN}]({_AUDIT})")


def with_verdict(markdown: str, name: str) -> str:
    """Returns the page of a metric with the audit verdicts of the metric, its parts and its variants appended.

    Pages of metrics that were not audited are returned unchanged.
    """
    rows = [row for row in _rows() if re.split("[ :]", row.metric.name)[0] == name and row.metric.dress]
    if not rows:
        return markdown
    verdicts = verdict_table(rows, needs_factors=rows[0].metric.metric.needs_factors, page=f"../{_AUDIT}")
    told = "The verdicts of [the audit of all metrics](../which-metric.md) follow from the measurements by fixed rules."
    return f"{markdown}\n\n## Audit results\n\n{told}\n\n{verdicts}"


def feature_table() -> str:
    """Returns the table of the features of codes that each metric takes, metrics that need factors first."""
    features = get_args(Feature)
    rows = [
        f"| {name} | {' | '.join('yes' if feature in cls().accepts else '–' for feature in features)} |"
        for name, cls in registry().items()
    ]
    return "\n".join([f"| metric | {' | '.join(features)} |", "|---|" + ":---:|" * len(features), *rows])


@cache
def _kept() -> Audit:
    return Audit.from_json(_KEPT.read_text(encoding="utf-8"))


@cache
def _rows() -> list[Row]:
    return rows_of(_kept())
