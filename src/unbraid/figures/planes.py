"""Scatter plots of two scores: a point for each run, and paths through the medians of settings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from unbraid._internal.table import Table
from unbraid.figures.canvas import Axes, axes_or_new, keep_data, name_axes, show_families
from unbraid.figures.observations import chosen_rows, drawn, groups, is_number
from unbraid.figures.point_labels import label_points
from unbraid.figures.style import FAINT, INK, SMALL_TEXT, family_look

_PAPER = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 0.5}  # background of labels of lines
_MARGIN = 0.15  # the margin on each side, as a share of the range of the medians


def scatter_plot(
    table: Table,
    x: str,
    y: str,
    *,
    across: Mapping[str, float] | None = None,
    upright: Mapping[str, float] | None = None,
    diagonal: bool = False,
    labels: tuple[str, str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws a point for each run, with the color and the marker of the family.

    `across` and `upright` draw horizontal and vertical reference lines: they map labels to values of `y` and `x`. If
    `diagonal` is True, the line x = y is drawn. `labels` are the axis labels, by default the column names.
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


def median_paths(
    table: Table,
    x: str,
    y: str,
    *,
    along: str = "strength",
    labels: tuple[str, str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws a line for each family through the medians of its settings, in a scatter plot of two columns.

    Settings are in the order of the column `along`, such as beta, whose values are written beside the points. Each run
    is a small point. The limits of the axes include all medians. If runs are outside of the limits, their number is
    written in a corner. `labels` are the axis labels, by default the column names.
    """
    rows = chosen_rows(table, x, y)
    axes = axes_or_new(axes, 3.4)
    order = {row["setting"]: row.get(along) for row in rows}
    path: list[tuple[Any, ...]] = [
        (one.label, one.family, order[one.label], float(np.median(one.values)), float(np.median(other.values)))
        for one, other in zip(groups(rows, x), groups(rows, y), strict=True)
    ]
    path.sort(key=lambda each: float(each[2]) if is_number(each[2]) else -np.inf)
    for family in dict.fromkeys(row["family"] for row in rows):
        look, mine = family_look(family), [row for row in rows if row["family"] == family]
        small = {"markersize": 2, "alpha": 0.35, "markeredgewidth": 0, "color": look.color}
        axes.plot([row[x] for row in mine], [row[y] for row in mine], look.marker, **small)
        places = [(across, up) for _, other, _, across, up in path if other == family]
        style = {"marker": look.marker, "linestyle": look.dashes, "markersize": 5, "linewidth": 1.2}
        axes.plot(*zip(*places, strict=True), color=look.color, **style)
    _show_medians(axes, rows, path, x, y)
    texts = [f"{at:g}" if is_number(at) else label for label, _, at, *_ in path]
    label_points(axes, [(*each[3:], text, family_look(each[1]).color) for each, text in zip(path, texts, strict=True)])
    show_families(axes, (row["family"] for row in rows), lines=True)
    name_axes(axes, *(labels or (x, y)))
    keep_data(axes, Table(("setting", "family", along, f"median {x}", f"median {y}"), tuple(path)))
    keep_data(axes, drawn(rows, x, y))
    return axes


def rate_distortion_plane(
    table: Table,
    rate: str = "rate",
    distortion: str = "distortion",
    *,
    along: str = "strength",
    axes: Axes | None = None,
) -> Axes:
    """Draws `median_paths` of distortion against rate (both in nats), with contours of equal ELBO."""
    names = (f"{rate} (nats)", f"{distortion} (nats)")
    axes = median_paths(table, rate, distortion, along=along, labels=names, axes=axes)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for total in np.linspace(left + low, right + high, 8)[1:-1]:
        axes.plot([left, right], [total - left, total - right], color=FAINT, linewidth=0.5, zorder=0)
    axes.set(xlim=(left, right), ylim=(low, high))
    return axes


def _show_medians(axes: Axes, rows: list[dict[str, Any]], path: list[Any], x: str, y: str) -> None:
    """Sets the limits of the axes to include all medians, and writes the number of runs outside of the limits."""
    medians = np.array([each[3:] for each in path])
    margins = _MARGIN * np.ptp(medians, axis=0)
    margins[margins == 0] = 1.0
    (left, low), (right, high) = medians.min(axis=0) - margins, medians.max(axis=0) + margins
    axes.set(xlim=(left, right), ylim=(low, high))
    beyond = sum(not (left <= row[x] <= right and low <= row[y] <= high) for row in rows)
    if beyond:
        text = f"{beyond} of {len(rows)} runs not shown"
        look = {"ha": "right", "fontsize": SMALL_TEXT, "color": INK}
        axes.annotate(text, (1, 1), (-2, -8), "axes fraction", "offset points", **look)
