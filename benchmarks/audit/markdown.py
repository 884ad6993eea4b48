"""The table of an audit as Markdown, for the docs."""

from collections.abc import Sequence

from benchmarks.audit.answer import answers, passes
from benchmarks.audit.experiments import EXPERIMENTS
from benchmarks.audit.page import anchor
from benchmarks.audit.table import HEADS, Row

_SIGNS = {"good": " ✓", "bad": " ✗", "between": "", "none": ""}


def verdict_table(rows: Sequence[Row], *, needs_factors: bool = True, page: str = "") -> str:
    """Returns a row for each metric that was audited and reads factors, or does not: what it is good for, and what not.
    Its name leads to its figures on the `page` of the audit.
    """
    lines = ["| metric | use it for | not for |", "|---|---|---|"]
    lines += [
        f"| {_name(row, page)} | {'; '.join(row.use) or '–'} | {'; '.join(row.avoid) or '–'} |"
        for row in _audited(rows, needs_factors)
    ]
    return "\n".join(lines) + "\n"


def answer_table(rows: Sequence[Row]) -> str:
    """Returns a row for each case: the fewest metrics to report, what each notices, and which could take its place."""
    lines = ["| your case | report | what each notices | could take its place |", "|---|---|---|---|"]
    for answer in answers(rows):
        names = " and ".join(f"`{name}`" for name in answer.notices) or "none of these"
        notices = "; ".join(f"`{name}`: {', '.join(uses)}" for name, uses in answer.notices.items())
        missed = f"{'; ' * bool(notices)}**none notices** {', '.join(answer.unnoticed)}" if answer.unnoticed else ""
        instead = "; ".join(f"for `{name}`: {_names(others)}" for name, others in answer.instead.items() if others)
        lines.append(f"| {answer.case.title} | {names} | {notices}{missed} | {instead or '–'} |")
    return "\n".join(lines) + "\n"


def question_table(rows: Sequence[Row]) -> str:
    """Returns a row for each question of the experiments: the metrics of which it is true, and those of which it is
    not. Only metrics that tell codes of factors from noise are in it.
    """
    lines = ["| question | yes | no |", "|---|---|---|"]
    lines += [f"| {question} | {_names(yes)} | {_names(no)} |" for question, (yes, no) in passes(rows).items()]
    return "\n".join(lines) + "\n"


def number_table(rows: Sequence[Row], *, needs_factors: bool = True, page: str = "") -> str:
    """Returns a row for each metric that was audited and reads factors, or does not, with its cells; each leads to its
    figure on the `page` of the audit. Metrics that read no factors have no cells of experiments.
    """
    columns = [column for column in HEADS if needs_factors or column not in EXPERIMENTS]
    lines = ["| | " + " | ".join(HEADS[column] for column in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in _audited(rows, needs_factors):
        texts = {column: row.cells[column].text + _SIGNS[row.cells[column].mark] for column in columns}
        cells = (f"[{text}]({page}#{anchor(row.metric.name, column)})" for column, text in texts.items())
        lines.append(f"| {_name(row, page)} | " + " | ".join(cells if page else texts.values()) + " |")
    return "\n".join(lines) + "\n"


def refusals(rows: Sequence[Row]) -> str:
    """Returns which metrics were not audited, and why, as a list."""
    return "".join(f"- `{row.metric.name}`: {row.metric.refusal}\n" for row in rows if not row.metric.dress)


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"


def _name(row: Row, page: str) -> str:
    name = row.metric.name
    return f"[`{name}`]({page}#{anchor(name)})" if page else f"`{name}`"


def _audited(rows: Sequence[Row], needs_factors: bool) -> Sequence[Row]:
    return [row for row in rows if row.metric.dress and row.metric.metric.needs_factors == needs_factors]
