"""The plane of rate and distortion."""

from typing import TYPE_CHECKING

import numpy as np

from unbraid._internal.table import Table
from unbraid.figures.median_paths import median_paths
from unbraid.figures.style import FAINT

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def rate_distortion_plane(
    table: Table,
    rate: str = "rate",
    distortion: str = "distortion",
    *,
    along: str = "strength",
    axes: "Axes | None" = None,
) -> "Axes":
    """Draws the settings of each family as a path through the plane of rate and distortion (both in nats).

    The path goes through their medians over seeds, in the order of the column `along`, such as beta, whose values are
    written beside.

    Every run is a small point, and each faint line joins points of one ELBO. The plane shows all medians; how many runs
    lie beyond it is written in its corner.
    """
    names = (f"{rate} (nats)", f"{distortion} (nats)")
    axes = median_paths(table, rate, distortion, along=along, labels=names, axes=axes)
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    for total in np.linspace(left + low, right + high, 8)[1:-1]:
        axes.plot([left, right], [total - left, total - right], color=FAINT, linewidth=0.5, zorder=0)
    axes.set_xlim(left, right)
    axes.set_ylim(low, high)
    return axes
