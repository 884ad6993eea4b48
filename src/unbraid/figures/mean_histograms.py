"""Histograms of the means of latents."""

from typing import TYPE_CHECKING, Any

import numpy as np

from unbraid._internal.table import Table
from unbraid.codes import Codes
from unbraid.figures.canvas import axes_or_new, keep_data, name_axes, name_rows
from unbraid.figures.latent_maps import latent_names
from unbraid.figures.style import INK, PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT = 0.85  # of the highest bar of a row, or of the normal where that is higher


def mean_histograms(
    codes: Any, *, num_bins: int = 40, span: float = 4.0, label: str = "mean of the latent", axes: "Axes | None" = None
) -> "Axes":
    """Draws a histogram of the means of each latent, one row a latent.

    Means beyond `span` are counted at its ends. The dashed curve is a standard normal, on the scale of its row.

    `codes` are `Codes`, or an array of images by latents.
    """
    means = np.asarray(codes.mean.detach().cpu() if isinstance(codes, Codes) else codes, dtype=float)
    edges = np.linspace(-span, span, num_bins + 1)
    middles, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    normal = np.exp(-(middles**2) / 2) / np.sqrt(2 * np.pi) * width * len(means)
    names, records = latent_names(means.shape[1]), []
    axes = axes_or_new(axes, 0.7 + 0.28 * len(names))
    for row, name in enumerate(names):
        counts, _ = np.histogram(means[:, row].clip(-span, span), edges)
        scale = _HEIGHT / max(counts.max(), normal.max())
        axes.stairs(row + 0.4 - scale * counts, edges, baseline=row + 0.4, fill=True, color=PLAIN, alpha=0.7)
        axes.plot(middles, row + 0.4 - scale * normal, "--", color=INK, linewidth=0.6)
        records += [
            (name, float(low), float(high), int(n)) for low, high, n in zip(edges, edges[1:], counts, strict=False)
        ]
    name_rows(axes, names)
    name_axes(axes, label)
    keep_data(axes, Table(("latent", "from", "to", "images"), tuple(records)))
    return axes
