"""Every number of every setting as a point."""

from typing import TYPE_CHECKING

import numpy as np

from unbraid.figures.canvas import axes_or_new, height_of_rows, keep_data, name_axes, name_rows
from unbraid.figures.observations import Values, as_table, chosen_rows, drawn, groups
from unbraid.figures.style import INK, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GOLDEN_RATIO = 0.618034  # multiples of it, modulo one, lie apart however many there are


def strip_plot(values: Values, column: str = "value", *, label: str = "", axes: "Axes | None" = None) -> "Axes":
    """Draws each number as a point in the row of its setting, and the median as a line.

    Points lie a little above and below the middle of their row, so that equal ones can be seen.
    """
    rows = chosen_rows(as_table(values, column), column)
    found = groups(rows, column)
    axes = axes_or_new(axes, height_of_rows(len(found)))
    for place, group in enumerate(found):
        look = family_look(group.family)
        heights = place + 0.45 * (np.arange(1, len(group.values) + 1) * _GOLDEN_RATIO % 1 - 0.5)
        axes.plot(group.values, heights, look.marker, color=look.color, markersize=3, alpha=0.8, markeredgewidth=0)
        axes.plot([np.median(group.values)] * 2, [place - 0.35, place + 0.35], color=INK, linewidth=1.2)
    name_rows(axes, [group.label for group in found])
    name_axes(axes, label or column)
    keep_data(axes, drawn(rows, column))
    return axes
