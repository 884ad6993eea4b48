"""Bars in order, the highest first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import axes_or_new, height_of_rows, keep_data, name_axes, name_rows
from unbraid.figures.observations import chosen_rows, groups, is_number
from unbraid.figures.style import INK, PLAIN, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def sorted_bars(
    values: Table | Mapping[str, float], column: str = "value", *, label: str = "", axes: "Axes | None" = None
) -> "Axes":
    """Draws a bar for each number, the highest at the top.

    `values` are numbers by label, such as the score of each latent, or a table, of which the medians of the settings
    are drawn.
    """
    if isinstance(values, Table):
        found = [(g.label, g.family, float(np.median(g.values))) for g in groups(chosen_rows(values, column), column)]
    else:
        found = [(name, "", float(value)) for name, value in values.items() if is_number(value)]
    if not found:
        raise UnbraidError("There is no finite number to draw a bar of.")
    found.sort(key=lambda each: -each[2])
    axes = axes_or_new(axes, height_of_rows(len(found)))
    for place, (_, family, value) in enumerate(found):
        color = family_look(family).color if family else PLAIN
        axes.barh(place, value, 0.65, color=color, alpha=0.6, edgecolor=INK, linewidth=0.6)
    name_rows(axes, [name for name, _, _ in found])
    name_axes(axes, label or column)
    keep_data(axes, Table(("label", "family", "value"), tuple(found)))
    return axes
