"""An audit in, one HTML file out: what to report, the table, verdicts, and the figure behind each cell."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.audit import limits, table
from benchmarks.audit.agreement import Agreement
from benchmarks.audit.answer import answers, passes
from benchmarks.audit.contents import Contents
from benchmarks.audit.experiments import EXPERIMENTS, Experiment
from benchmarks.audit.findings import Audit
from benchmarks.audit.panels import HEIGHT, WIDTH, panels_of
from benchmarks.audit.repeat import is_of_all_metrics, repeat_command
from benchmarks.audit.sizes import caveat, counted, size_words
from unbraid._internal import files
from unbraid.config import text_of
from unbraid.show.pages.page import content_policy, filled

CITED: Sequence[tuple[str, str]] = (
    ("Locatello et al., arXiv:1811.12359v4", "agreement of metrics over trained models"),
    ("Chen et al., arXiv:1802.04942v5", "turned axes, and metrics under their own settings"),
    ("Do & Tran, arXiv:1908.09961v4", "what metrics need and see: posteriors, bent relations, continuous factors"),
    ("Sepliarskaia et al., arXiv:1910.05587v3", "codes made by hand on which metrics fail"),
    ("Zaidi et al., arXiv:2012.09276v3", "noise, bent relations and number of codes, over families of metrics"),
    ("Träuble et al., arXiv:2006.07886v3", "dependent factors"),
    ("Almudévar et al., arXiv:2408.07016v3", "scores for dependent factors"),
    (
        "an audit of benchmarks of sparse autoencoders, arXiv:2605.18229v1",
        "reseeding, known truth and training at once",
    ),
)
"""The papers that did parts of this, and which."""


def write_audit_page(audit: Audit, path: Path | str, *, command: str | None = None) -> Path:
    """Writes the page of an audit and returns its path: one file that needs no script and no network. A file that is
    there is replaced, whatever it is; `python -m benchmarks.audit` asks for --force before it loses the page of another
    audit.

    `command` is what the page says under "Repeat it": by default, what measures this audit again.
    """
    path = Path(path)
    files.write_bytes(path, render(audit, command).encode("utf-8", errors="replace"))
    return path


def render(audit: Audit, command: str | None = None) -> str:
    """Returns the page as text."""
    rows = table.rows_of(audit)
    shown = [row for row in rows if row.metric.dress]
    return filled(
        "page.html",
        {
            "audit": audit,
            "policy": content_policy(),
            "meta": Contents.of(audit).meta,
            "caveat": caveat(audit.size),
            "measured": _measured(audit),
            "heads": table.HEADS,
            "rows": shown,
            "answers": answers(rows),
            "passes": passes(rows),
            "scored": _scored(rows),
            "is_partial": not is_of_all_metrics(audit),
            "refused": {row.metric.name: row.metric.refusal for row in rows if not row.metric.dress},
            "figures": {row.metric.name: list(panels_of(audit, row.metric)) for row in shown},
            "experiments": EXPERIMENTS,
            "levels": {name: _levels(audit, each) for name, each in EXPERIMENTS.items()},
            "limits": {name: value for name, value in vars(limits).items() if name.isupper()},
            "agreement": Agreement.of(audit),
            "cited": CITED,
            "command": repeat_command(audit) if command is None else command,
            "size": (WIDTH, HEIGHT),
        },
        {"strength": _strength, "share": _share, "anchor": anchor, "unbroken": _unbroken, "tenths": _tenths},
        package=__package__,
    )


def _measured(audit: Audit) -> dict[str, str]:
    """Returns how many metrics and rows there are, and the size of the audit, in words."""
    whole = [one for one in audit.metrics if one.dress and not one.part]
    parts = sum(bool(one.part) for one in audit.metrics)
    beside = f" and {counted(parts, 'part')} of scores" if parts else ""
    return {"metrics": counted(len(whole), "metric") + beside, "size": size_words(audit.size)}


def _scored(rows: Sequence[table.Row]) -> list[str]:
    """Returns the metrics whose scores hold all that the answers name."""
    named = {name for answer in answers(rows) for name in answer.notices}
    return list(dict.fromkeys(text_of(row.metric.metric) for row in rows if row.metric.name in named))


def _levels(audit: Audit, experiment: Experiment) -> list[str]:
    """Returns the levels at which some metric was measured."""
    return [
        label
        for label, design in experiment.levels.items()
        if any(audit.was_shown(one, design) for one in audit.metrics)
    ]


def anchor(name: str, column: str = "") -> str:
    """Returns where on the page the figures of a metric are, or that of one column. What agrees is a table for all."""
    if column == "agreement":
        return "agree"
    return re.sub("[^a-z0-9]+", "-", f"{name} {column}".lower()).strip("-")


def _strength(value: float) -> float:
    return 0.0 if math.isnan(value) else round(min(1.0, abs(value)), 2)


def _share(value: float) -> str:
    return _unbroken(f"{100 * value:.0f} %")


def _unbroken(text: str) -> str:
    """Returns a text that is not wrapped between a number and its sign."""
    return text.replace(" %", "\u00a0%").replace("± ", "±\u00a0")


def _tenths(value: float) -> str:
    """Returns a correlation in tenths, as short as it can be: a page has room for many."""
    return "–" if math.isnan(value) else f"{value:.1f}".replace("-0.0", "0.0").replace("0.", ".").replace("-", "−")
