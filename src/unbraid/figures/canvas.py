"""Matplotlib axes without pyplot. The axes store the drawn numbers."""

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.style import COLUMN_WIDTH, INK, SMALL_TEXT, TEXT_SIZE, family_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes  # noqa: PLC0414 (exported to the files beside it)
    from matplotlib.figure import Figure
else:  # matplotlib is imported when a figure is drawn
    Axes = Figure = Any

_DATA = "unbraid_data"  # the attribute of axes with the drawn numbers
_IN_NOTEBOOK = "_repr_png_"  # the method by which a notebook displays a value


def new_figure(width: float, height: float) -> "Figure":
    """Imports matplotlib, and returns an empty figure of this size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UnbraidError("matplotlib is not installed. Install it: pip install 'unbraid[figures]'.") from None
    return Figure(figsize=(width, height), layout="constrained")


def axes_or_new(axes: Axes | None, height: float = 2.6, width: float = COLUMN_WIDTH) -> Axes:
    """Returns the given axes or, if `axes` is None, the axes of a new figure."""
    drawn = new_figure(width, height).add_subplot() if axes is None else axes
    drawn.tick_params(labelsize=TEXT_SIZE, colors=INK)
    drawn.spines[["top", "right"]].set_visible(False)
    return drawn


def height_of_rows(count: int) -> float:
    """Returns the height in inches of a figure with `count` rows of text."""
    return 0.75 + 0.19 * count


def name_axes(axes: Axes, across: str = "", upright: str = "", title: str = "") -> None:
    """Sets the label of the x-axis (`across`), of the y-axis (`upright`), and the title, unless the text is empty."""
    if across:
        axes.set_xlabel(across, fontsize=TEXT_SIZE, color=INK)
    if upright:
        axes.set_ylabel(upright, fontsize=TEXT_SIZE, color=INK)
    if title:
        axes.set_title(title, fontsize=TEXT_SIZE, color=INK)


def name_rows(axes: Axes, labels: Iterable[str]) -> None:
    """Labels the rows 0, 1, ... of the y-axis, from top to bottom."""
    texts = list(labels)
    axes.set_yticks(range(len(texts)), texts)
    axes.set_ylim(len(texts) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#E6E6E6", linewidth=0.6)
    axes.set_axisbelow(True)


def show_families(axes: Axes, families: Iterable[str], *, lines: bool = False) -> None:
    """Adds a legend of the families above the axes, if there are two or more."""
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(families))
    if len(names) < 2:
        return
    handles = [
        Line2D([], [], color=look.color, marker=look.marker, markersize=4, linestyle=look.dashes if lines else "none")
        for look in map(family_look, names)
    ]
    axes.legend(
        handles,
        names,
        fontsize=SMALL_TEXT,
        frameon=False,
        loc="lower center",
        bbox_to_anchor=(0.5, 1.0),
        ncols=min(3, len(names)),
        handletextpad=0.4,
        columnspacing=1.0,
    )


def keep_data(axes: Axes, table: Table) -> None:
    """Stores the drawn numbers in the axes, and lets notebooks display the figure.

    Numbers that were stored in the same axes before are kept.
    """
    from unbraid.figures.saving import rendered

    setattr(axes, _DATA, (*getattr(axes, _DATA, ()), table))
    setattr(axes, _IN_NOTEBOOK, functools.partial(rendered, axes))


def data_of(axes: Axes) -> Table:
    """Returns the numbers drawn in all axes of the figure of `axes`.

    If several functions drew in the figure, the column "drawing" has the index of the drawing of each row.
    """
    tables = [table for each in axes.figure.axes for table in getattr(each, _DATA, ())]
    if not tables:
        raise UnbraidError("Expected axes drawn by unbraid.figures, got others. Save with axes.figure.savefig.")
    if len(tables) == 1:
        return tables[0]
    return Table.from_records({"drawing": number, **row} for number, table in enumerate(tables) for row in table)
