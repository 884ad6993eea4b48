"""Many scores of every run at once."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes, show_families
from unbraid.figures.observations import chosen_rows, drawn
from unbraid.figures.style import FAINT, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def parallel_coordinates(
    table: Table, columns: Sequence[str], *, lower_is_better: Collection[str] = (), axes: "Axes | None" = None
) -> "Axes":
    """Draws a thin line for each run across these columns, and a thick one through the medians of each family.

    Each column runs from its worst number, below, to its best, above: the highest, or the lowest where that is better.
    """
    if len(columns) < 2:
        raise UnbraidError(f"Parallel coordinates were given {len(columns)} columns; expected two or more.")
    rows = chosen_rows(table, *columns)
    numbers = np.array([[row[name] for name in columns] for row in rows], dtype=float)
    span = np.ptp(numbers, axis=0)
    heights = np.where(span > 0, (numbers - numbers.min(axis=0)) / np.where(span > 0, span, 1), 0.5)
    flipped = np.array([name in lower_is_better for name in columns])
    heights[:, flipped] = 1 - heights[:, flipped]
    axes = axes_or_new(axes, 3.0, max(3.4, 0.75 * len(columns)))
    axes.vlines(range(len(columns)), 0, 1, color=FAINT, linewidth=0.8)
    families = np.array([row["family"] for row in rows])
    for family in dict.fromkeys(families.tolist()):
        look, mine = family_look(family), heights[families == family]
        # One line with gaps is a smaller file than a line for each run.
        places = np.tile([*range(len(columns)), np.nan], len(mine))
        axes.plot(places, np.pad(mine, ((0, 0), (0, 1))).ravel(), color=look.color, alpha=0.22, linewidth=0.6)
        middle = np.median(mine, axis=0)
        axes.plot(middle, color=look.color, marker=look.marker, markersize=4, linewidth=1.8, linestyle=look.dashes)
    names = [f"{name} ↓" if name in lower_is_better else name for name in columns]
    axes.set_xticks(range(len(columns)), names, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks([0, 1], ["worst", "best"])
    axes.spines[:].set_visible(False)
    show_families(axes, families.tolist(), lines=True)
    name_axes(axes)
    keep_data(axes, drawn(rows, *columns))
    return axes
