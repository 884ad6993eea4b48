"""Sampling designs side by side."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes, new_figure
from unbraid.figures.style import SEQUENTIAL, SMALL_TEXT, TEXT_SIZE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def joint_tables(designs: Mapping[str, Any], factors: tuple[str, str]) -> "tuple[Axes, ...]":
    """Draws joint tables over two factors side by side, all on one scale: the probability of each pair of values.

    A design is a table of the first factor by the second, such as `joint.table((6, 16))`, by
    its label.
    """
    tables = {label: np.asarray(table, dtype=float) for label, table in designs.items()}
    wrong = [label for label, table in tables.items() if table.ndim != 2 or not np.isfinite(table).all()]
    if wrong or not tables:
        raise UnbraidError(
            f"Joint tables were to be drawn of {', '.join(map(repr, wrong)) or 'no design'}; expected at least one, "
            "each a table of two factors that holds finite numbers."
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
    bar = figure.colorbar(image, ax=list(panels), pad=0.02)
    bar.set_label("probability", fontsize=TEXT_SIZE)
    bar.ax.tick_params(labelsize=SMALL_TEXT)
    return tuple(panels)
