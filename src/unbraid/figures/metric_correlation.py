"""Which metrics agree."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from unbraid._internal.names import suggestion
from unbraid._internal.table import Table
from unbraid.errors import UnbraidError
from unbraid.figures.heat_map import heat_map
from unbraid.figures.latent_maps import rank_correlations
from unbraid.figures.observations import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def metric_correlation(
    table: Table, columns: Sequence[str], *, lower_is_better: Collection[str] = (), axes: "Axes | None" = None
) -> "Axes":
    """Draws the rank correlation (Spearman's) of all pairs of columns over the runs that have both.

    A metric of which lower is better counts with the other sign, so that +1 always means that two metrics agree.
    """
    if unknown := [name for name in columns if name not in table.columns]:
        raise UnbraidError(f"The table has no column {unknown[0]!r}. {suggestion(unknown[0], table.columns)}")
    if len(columns) < 2:
        raise UnbraidError(f"A correlation of metrics was given {len(columns)} of them; expected two or more.")
    signed = [
        [(-value if name in lower_is_better else value) if is_number(value) else np.nan for value in table[name]]
        for name in columns
    ]
    names = [f"{name} ↓" if name in lower_is_better else name for name in columns]
    values = rank_correlations(np.array(signed, dtype=float).T)
    return heat_map(values, names, names, ends=(-1, 1), label="rank correlation", axes=axes)
