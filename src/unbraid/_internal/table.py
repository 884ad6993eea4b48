"""Table: named columns and rows of plain values, with export to CSV, Parquet and pandas."""

import csv
import html
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from unbraid._internal.names import suggestion
from unbraid.errors import UnbraidError

_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}
_MAX_REPR = 1_900  # bytes, without the last line
_MAX_HTML_ROWS = 60
_NEGLIGIBLE = 1e-6  # share of the largest number of a column


@final
@dataclass(frozen=True)
class Table:
    """A table of rows with named columns. Missing values are None.

    `table["seed"]` is a column and `table[0]` a row as a dict. Iteration yields the rows.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @classmethod
    def from_records(cls, records: Iterable[Mapping[str, Any]]) -> "Table":
        """Returns a table with one row per record. The columns are the keys of all records in order of appearance."""
        rows = list(records)
        columns = tuple(dict.fromkeys(name for row in rows for name in row))
        return cls(columns, tuple(tuple(row.get(name) for name in columns) for row in rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, int):
            return dict(zip(self.columns, self.rows[key], strict=True))
        if key not in self.columns:
            raise KeyError(f"The table has no column {key!r}. {suggestion(key, self.columns)}")
        place = self.columns.index(key)
        return [row[place] for row in self.rows]

    def __str__(self) -> str:
        lines = [self.columns, *self._texts()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join(line.rstrip() for line in padded)

    def __repr__(self) -> str:
        return first_lines(str(self))

    def _repr_html_(self) -> str:
        def row(tag: str, cells: Iterable[Any]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row("td", cells) for cells in self._texts()[:_MAX_HTML_ROWS])
        num_hidden = len(self) - _MAX_HTML_ROWS
        rest = f"<p>{num_hidden} more rows; print() shows all.</p>" if num_hidden > 0 else ""
        return f"<table><thead>{row('th', self.columns)}</thead><tbody>{body}</tbody></table>{rest}"

    def _texts(self) -> list[tuple[str, ...]]:
        """Returns the cells as text. A number is "0" if it is negligible beside the others of its column."""
        sizes = [[abs(cell) for cell in column if isinstance(cell, float)] for column in zip(*self.rows, strict=True)]
        least = [_NEGLIGIBLE * max(column, default=0.0) for column in sizes]
        return [tuple(_shown(cell, size) for cell, size in zip(row, least, strict=True)) for row in self.rows]

    def to_csv(self) -> str:
        """Returns the table as CSV, with all digits of numbers and empty cells for missing values.

        Strings that a spreadsheet would execute as a formula are prefixed with an apostrophe.
        """
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(plain_text, self.columns))
        writer.writerows([plain_text(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows)
        return text.getvalue()

    def to_latex(self) -> str:
        """Returns the table in LaTeX, with the rules of booktabs. Columns of numbers are aligned to the right."""
        are_numbers = [
            all(isinstance(row[place], int | float | None) for row in self.rows) for place in range(len(self.columns))
        ]
        lines = [" & ".join(map(in_latex, row)) + r" \\" for row in (self.columns, *self._texts())]
        alignment = "".join("r" if is_number else "l" for is_number in are_numbers)
        return latex_table(alignment, lines)

    def to_pandas(self) -> Any:
        """Returns the table as a pandas DataFrame. Needs pandas."""
        return data_frame({name: self[name] for name in self.columns})

    def to_parquet(self) -> bytes:
        """Returns the table as the bytes of a Parquet file. Needs pandas and pyarrow."""
        stream = io.BytesIO()
        try:
            self.to_pandas().to_parquet(stream)
        except ImportError as error:
            raise UnbraidError(f"Parquet needs pandas and pyarrow ({error}). Install them, or use CSV.") from None
        return stream.getvalue()


def latex_table(alignment: str, lines: Sequence[str]) -> str:
    """Returns a LaTeX table with the rules of booktabs. The first line is the header."""
    head, *body = lines
    rules = [
        rf"\begin{{tabular}}{{{alignment}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*rules, ""])


def in_latex(text: str) -> str:
    """Returns the text with LaTeX syntax escaped."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def first_lines(text: str) -> str:
    """Returns the first lines of a text, up to 2,000 bytes, and the number of the other lines."""
    lines = text.splitlines()
    size, kept = 0, 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > _MAX_REPR:
            break
        kept += 1
    if kept == len(lines):
        return text
    return "\n".join([*lines[:kept], f"... {len(lines) - kept} more lines; print() shows all"])


def plain_text(text: str) -> str:
    """Returns the text, prefixed with an apostrophe if a spreadsheet would execute it as a formula."""
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def data_frame(columns: Mapping[str, Any]) -> Any:
    """Returns these columns as a pandas DataFrame. Raises an error if pandas is not installed."""
    try:
        import pandas as pd
    except ImportError:
        raise UnbraidError(
            "to_pandas needs pandas, which is not installed. Install it (pip install pandas), or write a .csv instead."
        ) from None
    return pd.DataFrame(dict(columns))


def _shown(value: Any, least: float = 0.0) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return "0" if abs(value) < least else f"{value:.6g}"
