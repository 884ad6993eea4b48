"""A line for each family over a setting that has an order."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from unbraid._internal.table import Table
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes, show_families
from unbraid.figures.observations import LabeledValues, chosen_rows, groups, is_number
from unbraid.figures.style import family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def mean_band(
    table: Table,
    x: str,
    y: str,
    *,
    label: str = "",
    log: bool = False,
    interval: Callable[[LabeledValues], tuple[float, float]] = LabeledValues.interval,
    axes: "Axes | None" = None,
) -> "Axes":
    """Draws the mean of the column `y` at each value of the column `x` as a line for each family.

    The band is the 95 % interval of the mean (Student's t), or another `interval`. A family without an `x`, such as a
    VAE in a sweep of beta, is a line across.
    """
    rows = chosen_rows(table, y)
    axes = axes_or_new(axes)
    records: list[tuple[Any, ...]] = []
    ticks: set[float] = set()
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = [row for row in rows if row["family"] == family]
        look = family_look(family)
        placed = sorted((row for row in mine if is_number(row[x])), key=lambda row: row[x])
        for group in groups([row for row in mine if not is_number(row[x])], y, by="family"):
            axes.axhline(group.mean, color=look.color, linestyle=look.dashes, linewidth=1)
            axes.axhspan(*interval(group), color=look.color, alpha=0.1, linewidth=0)
            records.append((family, None, len(group.values), group.mean, *interval(group)))
        found = groups(placed, y, by=x)
        if found:
            places, ends = [float(group.label) for group in found], [interval(group) for group in found]
            axes.fill_between(places, *zip(*ends, strict=True), color=look.color, alpha=0.13, linewidth=0)
            axes.plot(
                places,
                [group.mean for group in found],
                color=look.color,
                marker=look.marker,
                linestyle=look.dashes,
                markersize=4,
                linewidth=1.2,
            )
            ticks |= set(places)
            records += [
                (family, place, len(group.values), group.mean, *end)
                for place, group, end in zip(places, found, ends, strict=True)
            ]
    if log:
        axes.set_xscale("log")
        axes.set_xticks([], minor=True)
    axes.set_xticks(sorted(ticks), [f"{tick:g}" for tick in sorted(ticks)])
    show_families(axes, (row["family"] for row in rows), lines=True)
    name_axes(axes, x, label or y)
    keep_data(axes, Table(("family", x, "n", "mean", "low", "high"), tuple(records)))
    return axes
