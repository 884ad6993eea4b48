"""A box for each setting."""

from typing import TYPE_CHECKING

from unbraid.figures.canvas import axes_or_new, height_of_rows, keep_data, name_axes, name_rows
from unbraid.figures.observations import Values, as_table, chosen_rows, drawn, groups
from unbraid.figures.style import INK, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def box_plot(values: Values, column: str = "value", *, label: str = "", axes: "Axes | None" = None) -> "Axes":
    """Draws the quartiles of each setting as a box with its median.

    Whiskers end at the last number within 1.5 boxes; numbers beyond are points.
    """
    rows = chosen_rows(as_table(values, column), column)
    found = groups(rows, column)
    axes = axes_or_new(axes, height_of_rows(len(found)))
    boxes = axes.boxplot(
        [group.values for group in found],
        positions=range(len(found)),
        orientation="horizontal",
        widths=0.6,
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": INK, "linewidth": 1.4},
        flierprops={"markersize": 2.5},
    )
    for place, group in enumerate(found):
        look = family_look(group.family)
        boxes["boxes"][place].set(facecolor=look.color, alpha=0.5, edgecolor=INK, linewidth=0.7)
        boxes["fliers"][place].set(marker=look.marker, markerfacecolor=look.color, markeredgecolor=look.color)
    name_rows(axes, [group.label for group in found])
    name_axes(axes, label or column)
    keep_data(axes, drawn(rows, column))
    return axes
