"""A bar for each setting, with an error."""

from typing import TYPE_CHECKING

from unbraid._internal.table import Table
from unbraid.figures.canvas import axes_or_new, height_of_rows, keep_data, name_axes, name_rows
from unbraid.figures.observations import Values, as_table, chosen_rows, groups
from unbraid.figures.style import INK, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def error_bars(values: Values, column: str = "value", *, label: str = "", axes: "Axes | None" = None) -> "Axes":
    """Draws the mean of each setting as a bar, and the 95 % interval of the mean (Student's t over seeds) as a line."""
    found = groups(chosen_rows(as_table(values, column), column), column)
    axes = axes_or_new(axes, height_of_rows(len(found)))
    records = []
    for place, group in enumerate(found):
        low, high = group.interval()
        axes.barh(
            place, group.mean, 0.65, color=family_look(group.family).color, alpha=0.6, edgecolor=INK, linewidth=0.6
        )
        axes.errorbar(
            group.mean, place, xerr=[[group.mean - low], [high - group.mean]], color=INK, capsize=2, linewidth=0.9
        )
        records.append((group.label, group.family, len(group.values), group.mean, low, high))
    name_rows(axes, [group.label for group in found])
    name_axes(axes, f"{label or column} (mean, 95 % interval)")
    keep_data(axes, Table(("setting", "family", "n", "mean", "low", "high"), tuple(records)))
    return axes
