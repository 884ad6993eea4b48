"""Rows with one value of a score each, and tables of rows as plain text, Markdown and HTML."""

import html
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, final

from unbraid.metrics.metric import Score, Value

# Maximum number of parts of a score in a displayed table.
_MAX_PARTS = 6
_NEGLIGIBLE = 1e-6
_COLUMNS = ("metric", "value", "95 % interval", "better", "settled")
ARROWS = {True: "↑", False: "↓", None: ""}
_SETTLED = {True: "yes", False: "no", None: ""}


Quantity = Literal["value", "part", "factor", "latent"]


@final
@dataclass(frozen=True)
class Row:
    """One value of a scorecard.

    `of` is the name of the part, factor or latent, and empty for the value of the metric. `badge` is a warning about
    the complete scorecard, or empty.
    """

    name: str
    metric: str
    quantity: Quantity
    of: str
    value: float
    low: float
    high: float
    higher_is_better: bool | None
    settled: bool | None
    settings: str
    badge: str = ""


def rows_of(name: str, score: Score, *, higher_is_better: bool | None) -> Iterator[Row]:
    """Yields rows for the value, the parts, the factors and the latents of a score."""
    settings = json.dumps(dict(score.settings), sort_keys=True)

    def row(quantity: Quantity, of: str, value: Value) -> Row:
        low, high = value.interval or (math.nan, math.nan)
        better, settled = (higher_is_better, score.settled) if quantity == "value" else (None, None)
        return Row(name, score.metric, quantity, of, value.value, low, high, better, settled, settings)

    yield row("value", "", Value(score.value, score.interval))
    for part, value in score.parts.items():
        yield row("part", part, value)
    for factor, number in score.per_factor.items():
        yield row("factor", factor, Value(number))
    for latent, number in enumerate(score.per_latent):
        yield row("latent", str(latent), Value(number))


def cells(rows: Sequence[Row], max_parts: int | None = _MAX_PARTS) -> list[tuple[str, ...]]:
    """Returns table cells for values and parts, with the columns metric, value, 95 % interval, better and settled."""
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
    """Formats rows as a plain text table with aligned columns."""
    table = [_COLUMNS, *cells(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(f"{cell:{align}{width}}" for cell, align, width in zip(line, "<>>^<", widths, strict=True))
        for line in table
    ]
    return "\n".join(line.rstrip() for line in lines)


def markdown_table(rows: Sequence[Row]) -> str:
    """Formats rows as a Markdown table."""
    header = ["| " + " | ".join(_COLUMNS) + " |", "|---|---:|---:|:---:|---|"]
    return "\n".join(
        [*header, *("| " + " | ".join(_markdown_cell(cell) for cell in line) + " |" for line in cells(rows, None))]
    )


def html_table(rows: Sequence[Row]) -> str:
    """Formats rows as an HTML table."""
    header = "".join(f"<th>{html.escape(name)}</th>" for name in _COLUMNS)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell).replace('  ', '&emsp;')}</td>" for cell in line) + "</tr>"
        for line in cells(rows)
    )
    return f"<table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table>"


def number_text(value: float) -> str:
    """Returns the number with three decimals, or with significant digits if it is small or large.

    A negligible number, below 1e-6, is 0.000.
    """
    if math.isnan(value):
        return "–"
    if abs(value) < _NEGLIGIBLE or 5e-4 <= abs(value) < 1e4:
        return f"{value:z.3f}"
    return f"{value:.2g}" if abs(value) < 1 else f"{value:.4g}"


def interval_text(low: float, high: float) -> str:
    """Formats an interval; empty if the interval is unknown."""
    return "" if math.isnan(low) or math.isnan(high) else f"{number_text(low)} to {number_text(high)}"


def in_markdown(text: str) -> str:
    """Escapes Markdown and HTML syntax."""
    return re.sub(r"[\\|\[\]`*]", r"\\\g<0>", text.replace("&", "&amp;").replace("<", "&lt;"))


def _markdown_cell(cell: str) -> str:
    return in_markdown(cell).replace("  ", "&emsp;") if cell.startswith("  ") else in_markdown(cell)
