"""Scores as rows, one a number, and rows as text: plain, Markdown, CSV, HTML."""

import csv
import html
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal, final

from unbraid._internal.table import plain_text
from unbraid.metrics.metric import Interval, Score

# Of a score with many parts, a table on a screen shows the first few.
_MAX_PARTS = 6
_ROUNDING = 1e-12
_COLUMNS = ("metric", "value", "95 % interval", "better", "settled")
ARROWS = {True: "↑", False: "↓", None: ""}
_SETTLED = {True: "yes", False: "no", None: ""}


@final
@dataclass(frozen=True)
class Row:
    """Holds one number of a scorecard. `of` is the part, the factor or the latent that it belongs to; empty for the
    value of the metric. `badge` is what to know of all its numbers, if anything.
    """

    name: str
    metric: str
    quantity: Literal["value", "part", "factor", "latent"]
    of: str
    value: float
    low: float
    high: float
    higher_is_better: bool | None
    settled: bool | None
    settings: str
    badge: str = ""


def rows_of(name: str, score: Score, *, higher_is_better: bool | None) -> Iterator[Row]:
    """Yields every number of a score."""
    settings = json.dumps(dict(score.settings), sort_keys=True)

    def row(
        quantity: Literal["value", "part", "factor", "latent"], of: str, value: float, interval: Interval | None
    ) -> Row:
        low, high = interval or (math.nan, math.nan)
        better, settled = (higher_is_better, score.settled) if quantity == "value" else (None, None)
        return Row(name, score.metric, quantity, of, value, low, high, better, settled, settings)

    yield row("value", "", score.value, score.interval)
    for part, number in score.parts.items():
        yield row("part", part, number.value, number.interval)
    for factor, value in score.per_factor.items():
        yield row("factor", factor, value, None)
    for latent, value in enumerate(score.per_latent):
        yield row("latent", str(latent), value, None)


def cells(rows: Sequence[Row], max_parts: int | None = _MAX_PARTS) -> list[tuple[str, ...]]:
    """Returns values and parts as texts of a table with the columns metric, value, 95 % interval, better, settled."""
    shown: list[tuple[str, ...]] = []
    num_parts = 0
    for row in rows:
        if row.quantity == "value":
            num_parts = 0
            interval = interval_text(row.low, row.high)
            shown.append(
                (row.name, number_text(row.value), interval, ARROWS[row.higher_is_better], _SETTLED[row.settled])
            )
        elif row.quantity == "part":
            num_parts += 1
            if max_parts is None or num_parts <= max_parts:
                shown.append((f"  {row.of}", number_text(row.value), interval_text(row.low, row.high), "", ""))
            elif num_parts == max_parts + 1:
                shown.append(("  ...", "", "", "", ""))
    return shown


def plain_table(rows: Sequence[Row]) -> str:
    table = [_COLUMNS, *cells(rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(_COLUMNS))]
    aligned = (
        [
            line[0].ljust(widths[0]),
            line[1].rjust(widths[1]),
            line[2].rjust(widths[2]),
            line[3].center(widths[3]),
            line[4],
        ]
        for line in table
    )
    return "\n".join("  ".join(line).rstrip() for line in aligned)


def markdown_table(rows: Sequence[Row]) -> str:
    header = ["| " + " | ".join(_COLUMNS) + " |", "|---|---:|---:|:---:|---|"]
    return "\n".join(
        [*header, *("| " + " | ".join(_markdown_cell(cell) for cell in line) + " |" for line in cells(rows, None))]
    )


def html_table(rows: Sequence[Row]) -> str:
    header = "".join(f"<th>{html.escape(name)}</th>" for name in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell).replace('  ', '&emsp;')}</td>" for cell in line) + "</tr>"
        for line in cells(rows)
    )
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def csv_text(rows: Sequence[Row]) -> str:
    """Returns every number in full; what is undefined is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(f.name for f in fields(Row))
    writer.writerows([_csv_cell(value) for value in astuple(row)] for row in rows)
    return stream.getvalue()


def _csv_cell(value: Any) -> Any:
    if isinstance(value, str):
        return plain_text(value)
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


def number_text(value: float) -> str:
    """Returns the number with three decimals where they say something."""
    if math.isnan(value):
        return "–"
    if abs(value) < _ROUNDING or 5e-4 <= abs(value) < 1e4:
        return f"{value:z.3f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.4g}"


def interval_text(low: float, high: float) -> str:
    return "" if math.isnan(low) or math.isnan(high) else f"{number_text(low)} to {number_text(high)}"


def in_markdown(text: str) -> str:
    """Returns a text that Markdown shows as it is, without tags, links or columns of its own."""
    return re.sub(r"[\\|\[\]`*]", r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;"))


def _markdown_cell(cell: str) -> str:
    escaped = in_markdown(cell)
    return escaped.replace("  ", "&emsp;") if cell.startswith("  ") else escaped
