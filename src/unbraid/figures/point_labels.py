"""Placement of text labels beside points without overlaps."""

from collections.abc import Sequence

import numpy as np

from unbraid.figures.canvas import Axes
from unbraid.figures.style import SMALL_TEXT

# The possible distances of a text from its point (in points), best first.
_PLACES = (
    *((4, 3), (4, -9), (-4, 3), (-4, -9), (6, -3), (-6, -3)),
    *((0, 7), (0, -13), (9, 9), (-9, 9), (9, -15), (-9, -15)),
)


def label_points(axes: Axes, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Writes the text of each point (x, y, text, color) beside the point, if possible without overlaps.

    The limits of the axes must be set before.
    """
    from matplotlib.transforms import Bbox

    # Positions are approximate, because the space of titles and labels is not known before layout.
    places = axes.transData.transform([point[:2] for point in points]) * 72 / axes.figure.dpi
    taken = [Bbox.from_bounds(x - 3, y - 3, 6, 6) for x, y in places]
    for (across, up, text, color), (x, y) in zip(points, places, strict=True):
        width = 0.6 * SMALL_TEXT * len(text)
        boxes = {
            (right, higher): Bbox.from_bounds(x + right - (width if right < 0 else 0), y + higher, width, SMALL_TEXT)
            for right, higher in _PLACES
        }
        best = min(boxes, key=lambda place: boxes[place].count_overlaps(taken))
        taken.append(boxes[best])
        look = {"fontsize": SMALL_TEXT, "color": color, "ha": "right" if best[0] < 0 else "left"}
        axes.annotate(text, (across, up), best, textcoords="offset points", **look)


def spread(places: Sequence[float], distance: float, low: float = -np.inf, high: float = np.inf) -> list[float]:
    """Moves positions apart to a minimum `distance`, and keeps their order.

    The result is the mean of two solutions: one only increases positions, and the other only decreases positions. The
    result lies between `low` and `high` if there is enough space.
    """
    order = np.argsort(places, kind="stable")
    steps = distance * np.arange(len(order))
    ranked = np.asarray(places, dtype=float)[order]
    lifted = np.maximum.accumulate(ranked - steps) + steps
    lowered = np.minimum.accumulate((ranked - steps)[::-1])[::-1] + steps
    found = np.empty(len(order))
    found[order] = np.minimum(np.maximum((lifted + lowered) / 2, low + steps), high - steps[::-1])
    return [float(each) for each in found]
