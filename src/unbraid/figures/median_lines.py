"""A line for each setting over something that has an order, such as the steps of training."""

from typing import TYPE_CHECKING

import numpy as np

from unbraid._internal.table import Table
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes, show_families
from unbraid.figures.observations import chosen_rows
from unbraid.figures.style import family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FAINTEST = 0.35


def median_lines(table: Table, x: str, y: str, *, label: str = "", axes: "Axes | None" = None) -> "Axes":
    """Draws the median of the column `y` at each value of the column `x` as a line for each setting.

    A line has the color of its family: the later a setting comes among those of its family, the stronger.
    """
    rows = chosen_rows(table, x, y)
    axes = axes_or_new(axes)
    families = {row["setting"]: row["family"] for row in rows}
    records = []
    for setting, family in families.items():
        same_family = [name for name, other in families.items() if other == family]
        strength = (same_family.index(setting) + 1) / len(same_family)
        by_place: dict[float, list[float]] = {}
        for row in rows:
            if row["setting"] == setting:
                by_place.setdefault(float(row[x]), []).append(float(row[y]))
        medians = [(place, float(np.median(by_place[place]))) for place in sorted(by_place)]
        look = family_look(family)
        axes.plot(
            *zip(*medians, strict=True),
            color=look.color,
            linestyle=look.dashes,
            linewidth=1.2,
            alpha=_FAINTEST + (1 - _FAINTEST) * strength,
        )
        records += [(setting, family, *point) for point in medians]
    show_families(axes, families.values(), lines=True)
    name_axes(axes, x, label or y)
    keep_data(axes, Table(("setting", "family", x, y), tuple(records)))
    return axes
