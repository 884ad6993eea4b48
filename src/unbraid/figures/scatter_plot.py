"""Two scores of every run."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from unbraid._internal.table import Table
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes, show_families
from unbraid.figures.observations import chosen_rows, drawn
from unbraid.figures.style import INK, SMALL_TEXT, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Behind the texts of lines, which may lie on points.
_PAPER = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 0.5}


def scatter_plot(
    table: Table,
    x: str,
    y: str,
    *,
    across: Mapping[str, float] | None = None,
    upright: Mapping[str, float] | None = None,
    diagonal: bool = False,
    labels: tuple[str, str] | None = None,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draws a point for each run, with the color and the marker of its family.

    `across` and `upright` are reference lines by their labels, at these values of `y` and of `x`; `diagonal` is the
    line on which both are equal. `labels` are what the axes are called, if not by their columns.
    """
    rows = chosen_rows(table, x, y)
    axes = axes_or_new(axes, 3.2)
    for family in dict.fromkeys(row["family"] for row in rows):
        look, mine = family_look(family), [row for row in rows if row["family"] == family]
        places = [row[x] for row in mine], [row[y] for row in mine]
        axes.plot(*places, look.marker, color=look.color, markersize=4, alpha=0.75, markeredgewidth=0)
    line, text = (
        {"color": INK, "linewidth": 0.8, "linestyle": "--"},
        {"fontsize": SMALL_TEXT, "color": INK, "bbox": _PAPER},
    )
    for label, value in (across or {}).items():
        axes.axhline(value, **line)
        axes.annotate(label, (1, value), (-2, 4), ("axes fraction", "data"), "offset points", ha="right", **text)
    for label, value in (upright or {}).items():
        axes.axvline(value, **line)
        place = {"ha": "left", "va": "top", "rotation": 90}
        axes.annotate(label, (value, 1), (2, -2), ("data", "axes fraction"), "offset points", **place, **text)
    if diagonal:
        axes.axline((0, 0), slope=1, **line)
    show_families(axes, (row["family"] for row in rows))
    name_axes(axes, *(labels or (x, y)))
    keep_data(axes, drawn(rows, x, y))
    return axes
