"""Texts beside points, where they do not hide each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid.figures.style import SMALL_TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Box = tuple[float, float, float, float]  # left, bottom, right and top, in points

# Where a text may begin, as its distance from the point in points, the best place first.
_PLACES = (
    *((4, 3), (4, -9), (-4, 3), (-4, -9), (6, -3), (-6, -3)),
    *((0, 7), (0, -13), (9, 9), (-9, 9), (9, -15), (-9, -15)),
)


def label_points(axes: "Axes", points: Sequence[tuple[float, float, str, str]]) -> None:
    """Writes the text of each point (its place, its text, its color) beside it.

    It hides no other text and no other point as far as there is such a place. The axes must have their limits.
    """
    places = [_in_points(axes, across, up) for across, up, _, _ in points]
    taken: list[Box] = [(x - 3, y - 3, x + 3, y + 3) for x, y in places]
    for (across, up, text, color), (x, y) in zip(points, places, strict=True):
        width = 0.6 * SMALL_TEXT * len(text)
        boxes = {place: _box(x + place[0] - (width if place[0] < 0 else 0), y + place[1], width) for place in _PLACES}
        best = min(boxes, key=lambda place: sum(_shared(boxes[place], other) for other in taken))
        taken.append(boxes[best])
        axes.annotate(
            text,
            (across, up),
            best,
            textcoords="offset points",
            fontsize=SMALL_TEXT,
            color=color,
            ha="right" if best[0] < 0 else "left",
        )


def _in_points(axes: "Axes", across: float, up: float) -> tuple[float, float]:
    """Returns about where a point is: what titles and labels take of the figure is not known before it is laid out."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    width, height = axes.figure.get_size_inches() * 72 * 0.75
    return (across - left) / (right - left) * width, (up - low) / (high - low) * height


def _box(left: float, bottom: float, width: float) -> Box:
    return left, bottom, left + width, bottom + SMALL_TEXT


def _shared(one: Box, other: Box) -> float:
    """Returns the area that two boxes share."""
    across, up = min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])
    return max(0.0, across) * max(0.0, up)


def spread(places: Sequence[float], distance: float, low: float = -np.inf, high: float = np.inf) -> list[float]:
    """Returns places at least this far apart, in the same order and each near its own.

    It is the mean of lifting the higher ones and of lowering the lower ones. They stay between `low` and `high` where
    there is room.
    """
    order = np.argsort(places, kind="stable")
    steps = distance * np.arange(len(order))
    ranked = np.asarray(places, dtype=float)[order]
    lifted = np.maximum.accumulate(ranked - steps) + steps
    lowered = np.minimum.accumulate((ranked - steps)[::-1])[::-1] + steps
    found = np.empty(len(order))
    found[order] = np.minimum(np.maximum((lifted + lowered) / 2, low + steps), high - steps[::-1])
    return [float(each) for each in found]
