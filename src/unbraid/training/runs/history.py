"""History of the loss and its terms over training."""

import csv
import io
import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.names import suggestion
from unbraid._internal.table import data_frame
from unbraid.errors import RunError
from unbraid.figures.lines import training_curves

_OF_LATENT = "information_z"


def latent_column(latent: int) -> str:
    """Returns the name of the history column with the information of a latent."""
    return f"{_OF_LATENT}{latent}"


def is_latent_column(name: str) -> bool:
    """Returns whether a history column has the information of a latent."""
    return name.startswith(_OF_LATENT)


@final
@dataclass
class History:
    """Table of the loss and its terms in nats per image. The first column is the step.

    Missing values are NaN. `history["loss"]` is a column.
    """

    columns: tuple[str, ...] = ()
    rows: list[tuple[float, ...]] = field(default_factory=list)

    def append(self, step: int, values: dict[str, float]) -> None:
        self.columns = self.columns or ("step", *values)
        if new := tuple(name for name in values if name not in self.columns):
            self.columns += new
            self.rows = [(*row, *(math.nan for _ in new)) for row in self.rows]
        self.rows.append((float(step), *(values.get(name, math.nan) for name in self.columns[1:])))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"History({len(self)} rows: {', '.join(self.columns)})"

    def __getitem__(self, name: str) -> list[float]:
        if name not in self.columns:
            raise RunError(f"The history has no column {name!r}. {suggestion(name, self.columns)}")
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def latent_information(self) -> tuple[list[float], list[list[float]]]:
        """Returns the steps with estimates of I(x; z_d), and the estimates of all latents at each of these steps.

        `unbraid.figures.latent_curves` plots the estimates. Raises a RunError for a history without estimates.
        """
        names = [name for name in self.columns if is_latent_column(name)]
        if not names:
            raise RunError(
                "The history has no information of latents. Train with TrainingOptions(latent_information_every=100) "
                "(--latent-information-every 100)."
            )
        rows = zip(self["step"], *(self[name] for name in names), strict=True)
        known = [(step, list(values)) for step, *values in rows if not math.isnan(values[0])]
        return [step for step, _ in known], [values for _, values in known]

    def plot(self, *columns: str, axes: Any = None) -> Any:
        """Plots columns over training, by default all columns except the information of latents. Needs matplotlib.

        Returns the matplotlib axes, like the functions of `unbraid.figures`.
        """
        if not self:
            raise RunError("The history has no rows to plot. Train for at least one step.")
        names = columns or [name for name in self.columns[1:] if not is_latent_column(name)]
        return training_curves(self["step"], {name: self[name] for name in names}, axes=axes)

    def at_the_end(self, name: str) -> float:
        """Returns the mean of the last tenth of the values of a column, or NaN if the column is missing or empty."""
        values = [value for value in self[name] if not math.isnan(value)] if name in self.columns else []
        if not values:
            return math.nan
        return statistics.fmean(values[-math.ceil(len(values) / 10) :])

    def to_csv(self) -> str:
        """Returns the history as CSV text, with all digits of floats."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        # repr is exact, so that a resumed run has the same history as an uninterrupted run.
        writer.writerows([int(row[0]), *map(repr, row[1:])] for row in self.rows)
        return text.getvalue()

    def to_pandas(self) -> Any:
        """Returns the history as a pandas DataFrame. Needs pandas."""
        columns: dict[str, list[Any]] = {name: self[name] for name in self.columns}
        return data_frame(columns | {name: [int(step) for step in columns[name]] for name in self.columns[:1]})

    @classmethod
    def read(cls, path: Path) -> "History":
        if not path.exists():
            return cls()
        try:
            return cls.from_csv(files.read_bytes(path).decode())
        except (OSError, ValueError, csv.Error) as error:
            raise RunError(f"{path} is not a valid history ({error}). Train this run again with --force.") from None

    @classmethod
    def from_csv(cls, text: str) -> "History":
        """Parses the CSV text of `to_csv`."""
        header, *rows = csv.reader(text.splitlines())
        if not text.endswith("\n") or any(len(row) != len(header) for row in rows):
            raise ValueError("a row is truncated")
        return cls(tuple(header), [tuple(float(value) for value in row) for row in rows])
