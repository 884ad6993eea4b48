"""A curve for each latent over training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes
from unbraid.figures.latent_maps import latent_names
from unbraid.figures.point_labels import spread
from unbraid.figures.style import FAINT, SMALL_TEXT, look_of_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEAST_SHARE = 0.02  # of the highest value: latents that stay below it are drawn in gray
_LEAST_SPACE = 0.055  # between the middles of two names, as a share of the height


def latent_curves(
    steps: Sequence[float], values: Any, names: Sequence[str] = (), *, label: str = "", axes: "Axes | None" = None
) -> "Axes":
    """Draws a number of each latent, such as its KL, over training.

    `values` has a row for each step and a column for each latent. A latent has its name at the end of its curve; those
    that are never informative are gray.
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or len(table) != len(steps) or not np.isfinite(table).all():
        raise UnbraidError(
            f"Curves over {len(steps)} steps were given numbers of shape {table.shape}; expected a row of finite "
            "numbers for each step and a column for each latent."
        )
    titles = list(names) or latent_names(table.shape[1])
    axes = axes_or_new(axes)
    used = [place for place in range(table.shape[1]) if table[:, place].max() >= _LEAST_SHARE * table.max()]
    for place in range(table.shape[1]):
        look = look_of_number(place)
        how = {"color": look.color, "linestyle": look.dashes} if place in used else {"color": FAINT}
        axes.plot(steps, table[:, place], linewidth=1.2, **how)
    low, high = axes.get_ylim()
    heights = spread([table[-1, place] for place in used], _LEAST_SPACE * (high - low))
    for place, height in zip(used, heights, strict=True):
        color = look_of_number(place).color
        axes.annotate(titles[place], (steps[-1], height), (4, 0), textcoords="offset points", **_TEXT, color=color)
    name_axes(axes, "step", label)
    columns = [[float(each) for each in row] for row in table]
    keep_data(axes, Table(("step", *titles), tuple((s, *row) for s, row in zip(steps, columns, strict=True))))
    return axes


_TEXT: dict[str, Any] = {"va": "center", "fontsize": SMALL_TEXT, "annotation_clip": False}
