"""Inputs of figures: a table with a row for each run, or lists of numbers by label."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final

import numpy as np
from jaxtyping import Float

from unbraid._internal.names import suggestion
from unbraid._internal.table import Table
from unbraid.codes import Labels
from unbraid.errors import UnbraidError


class ScoredRuns(Protocol):
    """Runs with scores, such as `Runs`."""

    def score_table(self, *metrics: str, by: str | None = None) -> Table: ...


Values = Table | Mapping[str, Sequence[float]] | ScoredRuns


@final
@dataclass(frozen=True)
class LabeledValues:
    """The values of one label, such as a setting, and the family of the label."""

    label: str
    family: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.values))

    def interval(self, bounds: tuple[float, float] = (-math.inf, math.inf)) -> tuple[float, float]:
        """Returns the 95 % interval of the mean (Student's t), clipped to `bounds`; for one value, (mean, mean)."""
        from scipy import stats

        count = len(self.values)
        if count < 2:
            return self.mean, self.mean
        half = float(stats.t.ppf(0.975, count - 1) * np.std(self.values, ddof=1) / math.sqrt(count))
        return max(bounds[0], self.mean - half), min(bounds[1], self.mean + half)


def as_table(values: Values, column: str = "value", by: str | None = None) -> Table:
    """Returns a table with the columns "setting", "family" and `column`.

    A table keeps its columns, and the column `by` becomes its setting. Numbers by label have the label as setting. Of
    runs, `column` is a metric and `by` the path of a field.
    """
    if isinstance(values, Mapping):
        rows = tuple((label, label, float(value)) for label, each in values.items() for value in each)
        return Table(("setting", "family", column), rows)
    if not isinstance(values, Table):
        return values.score_table(column, by=by)
    if by is None:
        return values
    check_columns(values, by)
    return Table.from_records({**row, "setting": row[by]} for row in values)


def chosen_rows(table: Table, *columns: str) -> list[dict[str, Any]]:
    """Returns the rows with finite numbers in all of these columns. Raises UnbraidError if there are none.

    Each row has a setting and a family. If the table has no column "family", the family is the setting.
    """
    check_columns(table, "setting", *columns)
    rows = [{"family": row["setting"], **row} for row in table if all(is_number(row[name]) for name in columns)]
    if not rows:
        raise UnbraidError(f"Expected a row with numbers for {' and '.join(columns)}, got none. Score the runs first.")
    return rows


def check_columns(table: Table, *columns: str) -> None:
    """Raises UnbraidError if the table does not have one of these columns."""
    for name in columns:
        if name not in table.columns:
            raise UnbraidError(f"The table has no column {name!r}. {suggestion(name, table.columns)}")


def groups(rows: Iterable[Mapping[str, Any]], column: str, by: str = "setting") -> list[LabeledValues]:
    """Groups the numbers of a column by the values of the column `by`, in the order of first occurrence."""
    found: dict[Any, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(row[by], []).append(row)
    return [
        LabeledValues(_label_text(label), mine[0]["family"], tuple(float(r[column]) for r in mine))
        for label, mine in found.items()
    ]


def _label_text(label: Any) -> str:
    return f"{label:.12g}" if isinstance(label, float) else str(label)


def drawn(rows: Iterable[Mapping[str, Any]], *columns: str) -> Table:
    """Returns the drawn rows as a table with these columns and the columns that identify a run."""
    listed = list(rows)
    names = [name for name in ("setting", "family", "seed", "run") if name in listed[0]]
    kept = dict.fromkeys((*names, *columns))
    return Table(tuple(kept), tuple(tuple(row[name] for name in kept) for row in listed))


def numbers_of(labels: Labels) -> Float[np.ndarray, " image"]:
    """Returns the values of a factor as floats. Missing values are NaN."""
    values = labels.values.double().where(labels.is_known, math.nan)
    return values.cpu().numpy()


def latent_names(count: int) -> list[str]:
    """Returns the names z0, z1, ... of latents in figures."""
    return [f"z{number}" for number in range(count)]


def is_number(value: Any) -> bool:
    """Returns whether a value is a finite number."""
    return isinstance(value, (int, float, np.number)) and math.isfinite(value)
