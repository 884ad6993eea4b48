"""Tables of numbers as colors."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes
from unbraid.figures.style import COLUMN_WIDTH, DIVERGING, SEQUENTIAL, SMALL_TEXT, TEXT_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_WITH_NUMBERS = 12  # columns; in a wider table the numbers would not fit into their cells


def heat_map(
    values: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    ends: tuple[float, float] | None = None,
    label: str = "",
    axes: "Axes | None" = None,
) -> "Axes":
    """Draws each number of a table as a color, and writes it into its cell where there are at most twelve columns.

    `ends` are what the first and the last color stand for, by default the smallest and the largest number. Colors
    that begin below zero and end above it are those of a scale with a middle. What is NaN stays blank.
    """
    table = _checked(values, rows, columns)
    low, high = (np.nanmin(table), np.nanmax(table)) if ends is None else ends
    axes = axes_or_new(axes, 0.9 + max(1.0, 0.19 * len(rows)), max(COLUMN_WIDTH, 1.6 + _width(len(columns))))
    image = axes.imshow(
        table,
        cmap=DIVERGING if low < 0 < high else SEQUENTIAL,
        vmin=low,
        vmax=high,
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(columns)), columns, **_slanted(columns))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if len(columns) <= _MOST_WITH_NUMBERS:
        _write_numbers(axes, image, table)
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label(label, fontsize=TEXT_SIZE)
    bar.ax.tick_params(labelsize=SMALL_TEXT)
    bar.outline.set_visible(False)
    cells = ((row, column, float(table[i, j])) for i, row in enumerate(rows) for j, column in enumerate(columns))
    keep_data(axes, Table(("row", "column", "value"), tuple(cells)))
    name_axes(axes)
    return axes


def _checked(values: Any, rows: Sequence[str], columns: Sequence[str]) -> Float[np.ndarray, "row column"]:
    table = np.asarray(values, dtype=float)
    if table.shape != (len(rows), len(columns)) or not np.isfinite(table).any():
        raise UnbraidError(
            f"A heat map was given numbers of shape {table.shape}, with {len(rows)} names of rows and {len(columns)} "
            "of columns; expected a name for each row and column, and a finite number."
        )
    return table


def _width(num_columns: int) -> float:
    """Returns how many inches the columns take: more where there are numbers in them."""
    return (0.28 if num_columns <= _MOST_WITH_NUMBERS else 0.19) * num_columns


def _slanted(columns: Sequence[str]) -> dict[str, Any]:
    """Returns how the names of columns are turned: not at all where all are short."""
    if max(map(len, columns)) <= 3:
        return {}
    angle = 45 if len(columns) <= _MOST_WITH_NUMBERS else 90
    return {"rotation": angle, "ha": "right", "va": "center" if angle == 90 else "baseline", "rotation_mode": "anchor"}


def _write_numbers(axes: Any, image: Any, table: Float[np.ndarray, "row column"]) -> None:
    for (row, column), value in np.ndenumerate(table):
        if np.isfinite(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            ink = "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#FFFFFF"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=5.5, color=ink)
