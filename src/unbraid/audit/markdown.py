"""The table of an audit as Markdown, for the docs."""

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
    return "".join(f"- `{one.name}`: {one.refusal}\n" for one in audit.metrics if not one.dress)
