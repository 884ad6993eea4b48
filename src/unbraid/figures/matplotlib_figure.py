"""The same sheets as figures of matplotlib, which is imported here alone, and late."""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float
from torch import Tensor

from unbraid.errors import UnbraidError
from unbraid.figures.tiles import tiles

_INCHES = 0.7  # of a frame
_GAP = 1


def draw_sheet(
    frames: Float[Tensor, "row column channel height width"],
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    title: str = "",
) -> Any:
    """Returns a figure of matplotlib with one pair of axes, whose ticks are the labels. No window of pyplot has it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UnbraidError(
            "A figure needs matplotlib, which is not installed. Install it (pip install matplotlib), or use .image() "
            'and .save("x.png"), which do without.'
        ) from None
    rows, columns, _, height, width = frames.shape
    pixels = tiles(frames, _GAP)
    per_pixel = _INCHES / max(height, width)
    # A picture of one channel and its opacity is not one that matplotlib takes.
    colors = pixels if pixels.shape[2] == 4 else pixels[..., [0, 0, 0, 1]]
    figure = Figure(figsize=(pixels.shape[1] * per_pixel + 1.5, pixels.shape[0] * per_pixel + 0.5), layout="tight")
    axes = figure.add_subplot()
    axes.imshow(colors, interpolation="nearest")
    axes.set_yticks([row * (height + _GAP) + (height - 1) / 2 for row in range(rows)], row_labels)
    axes.set_xticks([column * (width + _GAP) + (width - 1) / 2 for column in range(columns)][: len(column_labels)])
    axes.set_xticklabels(column_labels)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_ylabel(title)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure
