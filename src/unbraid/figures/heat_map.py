"""Heat maps: latents and factors, correlations of metrics, and joint probabilities of factors."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from unbraid._internal.table import Table
from unbraid.codes import Codes
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import Axes, axes_or_new, keep_data, name_axes, new_figure
from unbraid.figures.observations import check_columns, is_number, latent_names, numbers_of
from unbraid.figures.style import COLUMN_WIDTH, DIVERGING, SEQUENTIAL, SMALL_TEXT, TEXT_SIZE

_MOST_WITH_NUMBERS = 12  # the maximum number of columns with numbers in the cells


def heat_map(
    values: Any,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    ends: tuple[float, float] | None = None,
    label: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draws a table of numbers as a heat map. Tables with at most twelve columns also show the numbers.

    `ends` are the values of the first and the last color, by default the minimum and the maximum. A scale with negative
    and positive values has diverging colors. Cells with NaN are blank.
    """
    table = np.asarray(values, dtype=float)
    if table.shape != (len(rows), len(columns)) or not np.isfinite(table).any():
        raise UnbraidError(
            f"Expected a table with at least one finite number and a name for each row and column, got the shape "
            f"{table.shape} with {len(rows)} names of rows and {len(columns)} of columns. Pass matching names."
        )
    low, high = (np.nanmin(table), np.nanmax(table)) if ends is None else ends
    has_numbers = len(columns) <= _MOST_WITH_NUMBERS
    width = 1.6 + (0.28 if has_numbers else 0.19) * len(columns)
    axes = axes_or_new(axes, 0.9 + max(1.0, 0.19 * len(rows)), max(COLUMN_WIDTH, width))
    colors = DIVERGING if low < 0 < high else SEQUENTIAL
    image = axes.imshow(table, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(columns)), columns, **_slanted(columns))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if has_numbers:
        _write_numbers(axes, image, table)
    _add_color_bar(axes.figure, image, axes, label).outline.set_visible(False)
    cells = ((row, column, float(table[i, j])) for i, row in enumerate(rows) for j, column in enumerate(columns))
    keep_data(axes, Table(("row", "column", "value"), tuple(cells)))
    name_axes(axes)
    return axes


def latent_factor_map(codes: Any, factors: Sequence[str] = (), *, label: str = "", axes: Axes | None = None) -> Axes:
    """Draws a heat map of latents (rows) and factors (columns).

    For `Codes`, the values are the absolute rank correlation of the mean of each latent with each ordered factor that
    varies. Otherwise, `codes` is a table, for instance of mutual information, and `factors` has its column names.
    """
    if not isinstance(codes, Codes):
        values = np.asarray(codes, dtype=float)
        return heat_map(
            values, latent_names(len(values)), list(factors), ends=_from_zero(values), label=label, axes=axes
        )
    ordered = {each.name: numbers_of(each) for each in codes.factors if each.ordered and not each.is_soft}
    columns = {name: column for name, column in ordered.items() if np.nanmin(column) < np.nanmax(column)}
    if not columns:
        raise UnbraidError(
            "The codes have no ordered factor that varies. Pass codes with such a factor, or a table, for instance of "
            "mutual information."
        )
    means = codes.mean.double().cpu().numpy()
    count = means.shape[1]
    values = np.abs(rank_correlations(np.column_stack([means, *columns.values()]))[:count, count:])
    label = label or "|rank correlation|"
    return heat_map(values, latent_names(count), list(columns), ends=(0, 1), label=label, axes=axes)


def latent_latent_map(codes: Any, *, label: str = "", axes: Axes | None = None) -> Axes:
    """Draws a heat map of pairs of latents.

    For `Codes`, the values are the absolute rank correlations of the means. Otherwise, `codes` is a square table.
    """
    if isinstance(codes, Codes):
        values, ends = np.abs(rank_correlations(codes.mean.double().cpu().numpy())), (0.0, 1.0)
        label = label or "|rank correlation|"
    else:
        values = np.asarray(codes, dtype=float)
        ends = _from_zero(values)
    names = latent_names(len(values))
    return heat_map(values, names, names, ends=ends, label=label, axes=axes)


def metric_correlation(
    table: Table, columns: Sequence[str], *, lower_is_better: Collection[str] = (), axes: Axes | None = None
) -> Axes:
    """Draws Spearman's rank correlation of all pairs of columns, over the runs with values in both columns.

    The sign of metrics in `lower_is_better` is flipped, so that +1 always means the same ranking of runs.
    """
    check_columns(table, *columns)
    if len(columns) < 2:
        raise UnbraidError(f"Expected two or more columns for a correlation, got {list(columns)}. Add a metric.")
    signed = [
        [(-value if name in lower_is_better else value) if is_number(value) else np.nan for value in table[name]]
        for name in columns
    ]
    names = [f"{name} ↓" if name in lower_is_better else name for name in columns]
    values = rank_correlations(np.array(signed, dtype=float).T)
    return heat_map(values, names, names, ends=(-1, 1), label="rank correlation", axes=axes)


def joint_tables(designs: Mapping[str, Any], factors: tuple[str, str]) -> tuple[Axes, ...]:
    """Draws joint probability tables of two factors side by side, with the same color scale.

    `designs` maps labels to tables with a row for each value of the first factor and a column for each value of the
    second, such as `joint.table((6, 16))`.
    """
    tables = {label: np.asarray(table, dtype=float) for label, table in designs.items()}
    wrong = [label for label, table in tables.items() if table.ndim != 2 or not np.isfinite(table).all()]
    if wrong or not tables:
        raise UnbraidError(
            f"Expected one or more designs with tables of finite numbers, got {', '.join(map(repr, wrong)) or 'none'}. "
            "Pass for example {'A': joint.table((6, 16))}."
        )
    figure = new_figure(0.9 + 1.7 * len(tables), 2.1)
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    highest = max(table.max() for table in tables.values())
    for axes, (label, table) in zip(panels, tables.items(), strict=True):
        axes_or_new(axes)
        image = axes.imshow(table, cmap=SEQUENTIAL, vmin=0, vmax=highest, aspect="auto", interpolation="nearest")
        axes.locator_params(nbins=5, integer=True)
        name_axes(axes, factors[1], factors[0] if axes is panels[0] else "", label)
        cells = ((label, *place, float(value)) for place, value in np.ndenumerate(table))
        keep_data(axes, Table(("design", *factors, "probability"), tuple(cells)))
    _add_color_bar(figure, image, list(panels), "probability")
    return tuple(panels)


def rank_correlations(columns: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "column column"]:
    """Returns Spearman's rank correlation of all pairs of columns, over the rows with finite values in both columns.

    The result is NaN for a constant column, or with fewer than three rows.
    """
    from scipy import stats

    found = np.full((columns.shape[1], columns.shape[1]), np.nan)
    for i, j in itertools.combinations_with_replacement(range(columns.shape[1]), 2):
        pairs = columns[:, [i, j]][np.isfinite(columns[:, [i, j]]).all(axis=1)]
        if len(pairs) >= 3 and (np.ptp(pairs, axis=0) > 0).all():
            found[i, j] = found[j, i] = np.corrcoef(stats.rankdata(pairs, axis=0), rowvar=False)[0, 1]
    return found


def _slanted(columns: Sequence[str]) -> dict[str, Any]:
    """Returns the text properties that rotate the column names; empty if all names are short."""
    if max(map(len, columns)) <= 3:
        return {}
    angle, va = (45, "baseline") if len(columns) <= _MOST_WITH_NUMBERS else (90, "center")
    return {"rotation": angle, "ha": "right", "va": va, "rotation_mode": "anchor"}


def _write_numbers(axes: Any, image: Any, table: Float[np.ndarray, "row column"]) -> None:
    for (row, column), value in np.ndenumerate(table):
        if np.isfinite(value):
            red, green, blue, _ = image.cmap(image.norm(value))
            ink = "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#FFFFFF"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=5.5, color=ink)


def _add_color_bar(figure: Any, image: Any, axes: Any, label: str) -> Any:
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label(label, fontsize=TEXT_SIZE)
    bar.ax.tick_params(labelsize=SMALL_TEXT)
    return bar


def _from_zero(values: Float[np.ndarray, "..."]) -> tuple[float, float]:
    return min(0.0, float(np.nanmin(values))), float(np.nanmax(values))
