"""The table of an audit as Markdown, for the docs."""

from unbraid.audit.auditing import SLOW
from unbraid.audit.experiments import EXPERIMENTS
from unbraid.audit.findings import Audit
from unbraid.audit.table import HEADS, rows_of

_SIGNS = {"good": "✓", "bad": "✗", "between": "", "none": ""}


def verdict_table(audit: Audit) -> str:
    """Returns a row for each metric that was audited: what it is good for, and what not."""
    lines = ["| metric | use it for | not for |", "|---|---|---|"]
    lines += [
        f"| `{row.metric.name}` | {'; '.join(row.use) or '–'} | {'; '.join(row.avoid) or '–'} |"
        for row in rows_of(audit)
        if row.metric.dress
    ]
    return "\n".join(lines) + "\n"


def question_table(audit: Audit) -> str:
    """Returns a row for each question of the experiments: the metrics that can answer it, and those that cannot. Only
    metrics that tell codes of factors from noise are in it.
    """
    rows = [row for row in rows_of(audit) if row.metric.dress and row.cells["range"].mark == "good"]
    lines = ["| question | these can tell | these cannot |", "|---|---|---|"]
    for column, experiment in EXPERIMENTS.items():
        told = {
            mark: ", ".join(f"`{row.metric.name}`" for row in rows if row.cells[column].mark == mark) or "–"
            for mark in ("good", "bad")
        }
        question = experiment.use if experiment.wish == "notice" else f"all the same with {experiment.use}"
        lines.append(f"| {question} | {told['good']} | {told['bad']} |")
    return "\n".join(lines) + "\n"


def number_table(audit: Audit) -> str:
    """Returns a row for each metric that was audited, with its cells."""
    lines = ["| | " + " | ".join(HEADS.values()) + " |", "|---" * (len(HEADS) + 1) + "|"]
    for row in rows_of(audit):
        if row.metric.dress:
            cells = (f"{row.cells[column].text} {_SIGNS[row.cells[column].mark]}".strip() for column in HEADS)
            lines.append(f"| `{row.metric.name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def refusals(audit: Audit) -> str:
    """Returns which metrics were not audited, and why, as a list."""
    audited = {one.name for one in audit.metrics}
    reasons = {one.name: one.refusal for one in audit.metrics if not one.dress}
    reasons |= {name: f"It {why}" for name, why in SLOW.items() if name not in audited}
    return "".join(f"- `{name}`: {why}\n" for name, why in reasons.items())
