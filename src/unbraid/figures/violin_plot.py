"""A violin for each setting."""

from typing import TYPE_CHECKING

import numpy as np

from unbraid.figures.canvas import axes_or_new, height_of_rows, keep_data, name_axes, name_rows
from unbraid.figures.observations import Values, as_table, chosen_rows, drawn, groups
from unbraid.figures.style import INK, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NUM_POINTS = 24  # of each outline


def violin_plot(values: Values, column: str = "value", *, label: str = "", axes: "Axes | None" = None) -> "Axes":
    """Draws the estimated density of each setting between its lowest and highest number, and each number in it.

    Numbers that are all alike have no density, and are drawn as points alone.
    """
    rows = chosen_rows(as_table(values, column), column)
    found = groups(rows, column)
    axes = axes_or_new(axes, height_of_rows(len(found)))
    for place, group in enumerate(found):
        look = family_look(group.family)
        if len(set(group.values)) > 1:
            violin = axes.violinplot(
                [group.values], [place], orientation="horizontal", widths=0.85, showextrema=False, points=_NUM_POINTS
            )
            violin["bodies"][0].set(facecolor=look.color, alpha=0.5, edgecolor=INK, linewidth=0.6)
        # One line with gaps is a smaller file than a marker for each number.
        across, heights = np.repeat(group.values, 3), np.tile([place - 0.15, place + 0.15, np.nan], len(group.values))
        axes.plot(across, heights, color=INK, linewidth=0.8)
    name_rows(axes, [group.label for group in found])
    name_axes(axes, label or column)
    keep_data(axes, drawn(rows, column))
    return axes
