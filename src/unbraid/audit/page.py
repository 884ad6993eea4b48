"""An audit in, one HTML file out: the table, a verdict for each metric, and the figure behind each cell."""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from unbraid import files
from unbraid.audit import table
from unbraid.audit.agreement import Agreement
from unbraid.audit.experiments import EXPERIMENTS
from unbraid.audit.findings import Audit
from unbraid.audit.panels import HEIGHT, WIDTH, panels_of
from unbraid.pages.fill import filled

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


def write_audit_page(audit: Audit, path: Path | str, *, command: str = "unbraid audit") -> Path:
    """Writes the page of an audit and returns its path: one file that needs no script and no network."""
    path = Path(path)
    files.write_bytes(path, render(audit, command).encode("utf-8", errors="replace"))
    return path


def render(audit: Audit, command: str) -> str:
    """Returns the page as text."""
    rows = table.rows_of(audit)
    shown = [row for row in rows if row.metric.dress]
    return filled(
        "audit.html",
        {
            "audit": audit,
            "heads": table.HEADS,
            "rows": shown,
            "refused": {row.metric.name: row.metric.refusal for row in rows if not row.metric.dress},
            "figures": {row.metric.name: list(panels_of(audit, row.metric)) for row in shown},
            "experiments": EXPERIMENTS,
            "limits": {name: getattr(table, name) for name in vars(table) if name.isupper() and name != "HEADS"},
            "agreement": Agreement.of(audit),
            "cited": CITED,
            "command": command,
            "size": (WIDTH, HEIGHT),
        },
        {"strength": _strength, "share": _share, "anchor": anchor},
    )


def anchor(name: str, column: str = "") -> str:
    """Returns where on the page the figures of a metric are, or that of one column. What agrees is a table for all."""
    if column == "agreement":
        return "agree"
    return re.sub("[^a-z0-9]+", "-", f"{name} {column}".lower()).strip("-")


def _strength(value: float) -> float:
    return 0.0 if math.isnan(value) else round(min(1.0, abs(value)), 2)


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"
