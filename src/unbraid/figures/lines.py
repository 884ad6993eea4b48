"""Line plots: scores over a hyperparameter, losses over training, and parallel coordinates of scores."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import Axes, axes_or_new, keep_data, name_axes, show_families
from unbraid.figures.observations import check_columns, chosen_rows, drawn, groups, is_number, latent_names
from unbraid.figures.point_labels import spread
from unbraid.figures.style import FAINT, SMALL_TEXT, family_look, numbered_look

_FAINTEST = 0.35  # the opacity of the first setting of a family
_LEAST_SHARE = 0.02  # the share of the highest value below which the curve of a latent is gray
_BEGINNING, _MARGIN = 0.05, 0.05
_LEAST_SPACE = 0.055  # the minimum distance of two names, as a share of the height


def mean_band(
    table: Table,
    x: str,
    y: str,
    *,
    label: str = "",
    log: bool = False,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    axes: Axes | None = None,
) -> Axes:
    """Draws the mean of the column `y` against the column `x`, with a line for each family.

    The band is the 95 % interval of the mean (Student's t), clipped to `bounds`, the smallest and largest possible
    value. A family without values of `x`, such as a VAE in a sweep of beta, is drawn as a horizontal line.
    """
    check_columns(table, x)
    rows = chosen_rows(table, y)
    axes = axes_or_new(axes)
    records: list[tuple[Any, ...]] = []
    for family in dict.fromkeys(row["family"] for row in rows):
        mine = [row for row in rows if row["family"] == family]
        look = family_look(family)
        for group in groups([row for row in mine if not is_number(row[x])], y, by="family"):
            low, high = group.interval(bounds)
            axes.axhline(group.mean, color=look.color, linestyle=look.dashes, linewidth=1)
            axes.axhspan(low, high, color=look.color, alpha=0.1, linewidth=0)
            records.append((family, None, len(group.values), group.mean, low, high))
        placed = sorted((row for row in mine if is_number(row[x])), key=lambda row: row[x])
        points = [
            (float(group.label), len(group.values), group.mean, *group.interval(bounds))
            for group in groups(placed, y, by=x)
        ]
        if points:
            places, _, means, lows, highs = zip(*points, strict=True)
            axes.fill_between(places, lows, highs, color=look.color, alpha=0.13, linewidth=0)
            style = {"marker": look.marker, "linestyle": look.dashes, "markersize": 4, "linewidth": 1.2}
            axes.plot(places, means, color=look.color, **style)
            records += [(family, *point) for point in points]
    if log:
        axes.set_xscale("log")
        axes.set_xticks([], minor=True)
    ticks = sorted({record[1] for record in records} - {None})
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    show_families(axes, (row["family"] for row in rows), lines=True)
    name_axes(axes, x, label or y)
    keep_data(axes, Table(("family", x, "n", "mean", "low", "high"), tuple(records)))
    return axes


def median_lines(table: Table, x: str, y: str, *, label: str = "", axes: Axes | None = None) -> Axes:
    """Draws the median of the column `y` against the column `x`, with a line for each setting.

    Settings of a family have the same color, and later settings have stronger colors.
    """
    rows = chosen_rows(table, x, y)
    axes = axes_or_new(axes)
    families = {row["setting"]: row["family"] for row in rows}
    records = []
    for setting, family in families.items():
        same_family = [name for name, other in families.items() if other == family]
        strength = (same_family.index(setting) + 1) / len(same_family)
        mine = sorted((row for row in rows if row["setting"] == setting), key=lambda row: row[x])
        medians = [(float(group.label), float(np.median(group.values))) for group in groups(mine, y, by=x)]
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


def latent_curves(
    steps: Sequence[float], values: Any, names: Sequence[str] = (), *, label: str = "", axes: Axes | None = None
) -> Axes:
    """Draws a quantity of each latent, such as the KL, over training steps.

    `values` has a row for each step and a column for each latent. `names` are the labels of the curves, by default z0,
    z1, ... Curves that always stay below 2 % of the maximum are gray.
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or len(table) != len(steps) or not table.size or not np.isfinite(table).all():
        raise UnbraidError(
            f"Expected finite `values` of shape ({len(steps)} steps, latents), got the shape {table.shape}. Pass a row "
            "for each step and a column for each latent."
        )
    titles = list(names) or latent_names(table.shape[1])
    if len(titles) != table.shape[1]:
        raise UnbraidError(f"Expected `names` with {table.shape[1]} entries, got {len(titles)}. Name each latent.")
    axes = axes_or_new(axes)
    used = [place for place in range(table.shape[1]) if table[:, place].max() >= _LEAST_SHARE * table.max()]
    for place in range(table.shape[1]):
        look = numbered_look(place)
        style = {"color": look.color, "linestyle": look.dashes} if place in used else {"color": FAINT}
        axes.plot(steps, table[:, place], linewidth=1.2, **style)
    _name_ends(axes, steps[-1], {titles[place]: (table[-1, place], numbered_look(place).color) for place in used})
    name_axes(axes, "step", label)
    keep_data(axes, Table(("step", *titles), tuple((s, *row) for s, row in zip(steps, table.tolist(), strict=True))))
    return axes


def training_curves(
    steps: Sequence[float], columns: Mapping[str, Sequence[float]], *, axes: Axes | None = None
) -> Axes:
    """Draws columns of a history over training. Each curve ends with the name of its column. NaN are left out.

    The axis shows the range after the first twentieth of training, because losses often begin far above.
    """
    axes = axes_or_new(axes)
    late = steps[0] + (steps[-1] - steps[0]) * _BEGINNING
    shown, ends = [], {}
    for place, (name, column) in enumerate(columns.items()):
        points = [(step, value) for step, value in zip(steps, column, strict=True) if np.isfinite(value)]
        if not points:
            continue
        look = numbered_look(place)
        axes.plot(*zip(*points, strict=True), color=look.color, linestyle=look.dashes, linewidth=1.2)
        shown += [value for step, value in points if step >= late] or [points[-1][1]]
        ends[name.replace("_", " ")] = (points[-1][1], look.color)
    if not shown:
        raise UnbraidError(f"The columns {', '.join(columns) or '(none)'} contain no finite number. There is no curve.")
    margin = _MARGIN * (max(shown) - min(shown)) or _MARGIN
    axes.set_ylim(min(shown) - margin, max(shown) + margin)
    _name_ends(axes, steps[-1], ends)
    name_axes(axes, "step", "nats per image")
    keep_data(axes, Table(("step", *columns), tuple(zip(steps, *columns.values(), strict=True))))
    return axes


def _name_ends(axes: Axes, end: float, texts: Mapping[str, tuple[float, str]]) -> None:
    """Writes texts beside the ends of curves, given the height and color of each, without overlaps."""
    low, high = axes.get_ylim()
    heights = spread([height for height, _ in texts.values()], _LEAST_SPACE * (high - low))
    for (text, (_, color)), height in zip(texts.items(), heights, strict=True):
        axes.annotate(
            text,
            (end, height),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_TEXT,
            annotation_clip=False,
            color=color,
        )


def parallel_coordinates(
    table: Table, columns: Sequence[str], *, lower_is_better: Collection[str] = (), axes: Axes | None = None
) -> Axes:
    """Draws parallel coordinates: a thin line for each run, and a thick line through the medians of each family.

    Each column is scaled from the worst value (bottom) to the best value (top). The best value is the maximum, or the
    minimum for columns in `lower_is_better`.
    """
    if len(columns) < 2:
        raise UnbraidError(f"Expected two or more columns for parallel coordinates, got {list(columns)}. Add a metric.")
    rows = chosen_rows(table, *columns)
    numbers = np.array([[row[name] for name in columns] for row in rows], dtype=float)
    span = np.ptp(numbers, axis=0)
    heights = np.where(span > 0, (numbers - numbers.min(axis=0)) / np.where(span > 0, span, 1), 0.5)
    flipped = np.array([name in lower_is_better for name in columns])
    heights[:, flipped] = 1 - heights[:, flipped]
    axes = axes_or_new(axes, 3.0, max(3.4, 0.75 * len(columns)))
    axes.vlines(range(len(columns)), 0, 1, color=FAINT, linewidth=0.8)
    families = np.array([row["family"] for row in rows])
    for family in dict.fromkeys(families.tolist()):
        look, mine = family_look(family), heights[families == family]
        # One line with gaps makes a smaller file than a line for each run.
        places = np.tile([*range(len(columns)), np.nan], len(mine))
        axes.plot(places, np.pad(mine, ((0, 0), (0, 1))).ravel(), color=look.color, alpha=0.22, linewidth=0.6)
        middle = np.median(mine, axis=0)
        axes.plot(middle, color=look.color, marker=look.marker, markersize=4, linewidth=1.8, linestyle=look.dashes)
    names = [f"{name} ↓" if name in lower_is_better else name for name in columns]
    axes.set_xticks(range(len(columns)), names, rotation=30, ha="right", rotation_mode="anchor")
    axes.set_yticks([0, 1], ["worst", "best"])
    axes.spines[:].set_visible(False)
    show_families(axes, families.tolist(), lines=True)
    name_axes(axes)
    keep_data(axes, drawn(rows, *columns))
    return axes
