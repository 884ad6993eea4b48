"""Panels: axes beside each other in one figure, as papers have them."""

from collections.abc import Sequence
from typing import Any

from unbraid.figures.canvas import name_axes, new_figure
from unbraid.figures.style import COLUMN_WIDTH


def side_by_side(titles: Sequence[str], *, height: float = 2.8, width: float = COLUMN_WIDTH) -> list[Any]:
    """Returns axes beside each other, one for each title, in one figure."""
    figure = new_figure(width * len(titles), height)
    panels = [figure.add_subplot(1, len(titles), place + 1) for place in range(len(titles))]
    for axes, title in zip(panels, titles, strict=True):
        name_axes(axes, title=title)
    return panels
