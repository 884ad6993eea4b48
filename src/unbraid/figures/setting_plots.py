"""Plots with a row for each setting: box plots, violin plots, strip plots and bars.

`values` are a table with a row for each run, numbers by label, or `Runs` with the name of a metric as `column`. `by` is
the column, or of runs the path of the field, that is the setting.
"""

from collections.abc import Mapping

import numpy as np

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import Axes, axes_or_new, height_of_rows, keep_data, name_axes, name_rows
from unbraid.figures.observations import LabeledValues, Values, as_table, chosen_rows, drawn, groups, is_number
from unbraid.figures.style import INK, PLAIN, family_look

_NUM_POINTS = 24  # the number of points of the outline of a violin
_GOLDEN_RATIO = 0.618034  # multiples of this number, modulo 1, are evenly distributed
_UNBOUNDED = (-np.inf, np.inf)


def box_plot(
    values: Values, column: str = "value", *, by: str | None = None, label: str = "", axes: Axes | None = None
) -> Axes:
    """Draws a box plot of each setting: quartiles, median, whiskers and outliers.

    Whiskers end at the last number within 1.5 times the interquartile range of the box. Outliers are points.
    """
    axes, found = _axes_with_rows(values, column, by, label, axes)
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
    return axes


def violin_plot(
    values: Values, column: str = "value", *, by: str | None = None, label: str = "", axes: Axes | None = None
) -> Axes:
    """Draws the estimated density of each setting, between the minimum and the maximum, with a mark for each number.

    If all numbers of a setting are equal, only the marks are drawn.
    """
    axes, found = _axes_with_rows(values, column, by, label, axes)
    for place, group in enumerate(found):
        look = family_look(group.family)
        if len(set(group.values)) > 1:
            violin = axes.violinplot(
                [group.values], [place], orientation="horizontal", widths=0.85, showextrema=False, points=_NUM_POINTS
            )
            violin["bodies"][0].set(facecolor=look.color, alpha=0.5, edgecolor=INK, linewidth=0.6)
        # One line with gaps makes a smaller file than a marker for each number.
        across, heights = np.repeat(group.values, 3), np.tile([place - 0.15, place + 0.15, np.nan], len(group.values))
        axes.plot(across, heights, color=INK, linewidth=0.8)
    return axes


def strip_plot(
    values: Values, column: str = "value", *, by: str | None = None, label: str = "", axes: Axes | None = None
) -> Axes:
    """Draws each number as a point in the row of its setting, and the median as a line.

    Points are shifted vertically, so that equal values are visible.
    """
    axes, found = _axes_with_rows(values, column, by, label, axes)
    for place, group in enumerate(found):
        look = family_look(group.family)
        heights = place + 0.45 * (np.arange(1, len(group.values) + 1) * _GOLDEN_RATIO % 1 - 0.5)
        axes.plot(group.values, heights, look.marker, color=look.color, markersize=3, alpha=0.8, markeredgewidth=0)
        axes.plot([np.median(group.values)] * 2, [place - 0.35, place + 0.35], color=INK, linewidth=1.2)
    return axes


def error_bars(
    values: Values,
    column: str = "value",
    *,
    by: str | None = None,
    label: str = "",
    bounds: tuple[float, float] = _UNBOUNDED,
    axes: Axes | None = None,
) -> Axes:
    """Draws the mean of each setting as a bar, and the 95 % interval of the mean (Student's t) as a line.

    Intervals are clipped to `bounds`, the smallest and largest possible value.
    """
    found = groups(chosen_rows(as_table(values, column, by), column), column)
    axes = axes_or_new(axes, height_of_rows(len(found)))
    records = []
    for place, group in enumerate(found):
        low, high = group.interval(bounds)
        _bar(axes, place, group.mean, family_look(group.family).color)
        axes.errorbar(
            group.mean, place, xerr=[[group.mean - low], [high - group.mean]], color=INK, capsize=2, linewidth=0.9
        )
        records.append((group.label, group.family, len(group.values), group.mean, low, high))
    name_rows(axes, [group.label for group in found])
    name_axes(axes, f"{label or column} (mean, 95 % interval)", by or "")
    keep_data(axes, Table(("setting", "family", "n", "mean", "low", "high"), tuple(records)))
    return axes


def sorted_bars(
    values: Table | Mapping[str, float], column: str = "value", *, label: str = "", axes: Axes | None = None
) -> Axes:
    """Draws a bar for each number, sorted from largest (top) to smallest.

    `values` are numbers by label, such as the score of each latent, or a table. For a table, the bars are the medians
    of the settings.
    """
    if isinstance(values, Table):
        found = [(g.label, g.family, float(np.median(g.values))) for g in groups(chosen_rows(values, column), column)]
    else:
        found = [(name, "", float(value)) for name, value in values.items() if is_number(value)]
    if not found:
        raise UnbraidError(f"Expected at least one finite number in `values`, got {values}. Pass finite numbers.")
    found.sort(key=lambda each: -each[2])
    axes = axes_or_new(axes, height_of_rows(len(found)))
    for place, (_, family, value) in enumerate(found):
        _bar(axes, place, value, family_look(family).color if family else PLAIN)
    name_rows(axes, [name for name, _, _ in found])
    name_axes(axes, label or column)
    keep_data(axes, Table(("label", "family", "value"), tuple(found)))
    return axes


def _axes_with_rows(
    values: Values, column: str, by: str | None, label: str, axes: Axes | None
) -> tuple[Axes, list[LabeledValues]]:
    """Returns axes with a labeled row for each setting, and the values of each setting."""
    rows = chosen_rows(as_table(values, column, by), column)
    found = groups(rows, column)
    axes = axes_or_new(axes, height_of_rows(len(found)))
    name_rows(axes, [group.label for group in found])
    name_axes(axes, label or column, by or "")
    keep_data(axes, drawn(rows, column))
    return axes, found


def _bar(axes: Axes, place: int, value: float, color: str) -> None:
    axes.barh(place, value, 0.65, color=color, alpha=0.6, edgecolor=INK, linewidth=0.6)
