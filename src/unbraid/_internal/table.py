"""Table: named columns and rows of plain values, with export to CSV, Parquet and pandas."""

import csv
import html
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from unbraid._internal.names import suggestion
from unbraid.errors import UnbraidError


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
        lines = [self.columns, *(tuple(map(_shown, row)) for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        return "\n".join(line.rstrip() for line in padded)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def row(tag: str, cells: Iterable[Any]) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(_shown(cell))}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row("td", cells) for cells in self.rows)
        return f"<table><thead>{row('th', self.columns)}</thead><tbody>{body}</tbody></table>"

    def to_csv(self) -> str:
        """Returns the table as CSV, with all digits of numbers and empty cells for missing values.

        Strings that a spreadsheet would execute as a formula are prefixed with an apostrophe.
        """
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(plain_text, self.columns))
        writer.writerows([plain_text(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows)
        return text.getvalue()

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


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
