"""How latents go with factors, and with each other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from unbraid.codes import Codes, Labels
from unbraid.errors import UnbraidError
from unbraid.figures.heat_map import heat_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def latent_factor_map(
    codes: Any, factors: Sequence[str] = (), *, label: str = "", axes: "Axes | None" = None
) -> "Axes":
    """Draws a table of latents by factors as colors.

    Of `Codes`, it is the absolute rank correlation of the mean of each latent with each factor that varies and whose
    values have an order; else `codes` is a table of your own, such as mutual information, and `factors` names its
    columns.
    """
    if not isinstance(codes, Codes):
        values = np.asarray(codes, dtype=float)
        return heat_map(
            values, latent_names(len(values)), list(factors), ends=_from_zero(values), label=label, axes=axes
        )
    columns = {labels.name: _ordered(labels) for labels in codes.factors if labels.ordered and labels.values.ndim == 1}
    columns = {name: column for name, column in columns.items() if np.nanmin(column) < np.nanmax(column)}
    if not columns:
        raise UnbraidError(
            "The codes know no factor that varies and whose values have an order. Give codes that do, or a table of "
            "your own, such as mutual information."
        )
    means = _numbers(codes.mean)
    values = np.abs(rank_correlations(np.column_stack([means, *columns.values()]))[: means.shape[1], means.shape[1] :])
    rows = latent_names(means.shape[1])
    return heat_map(values, rows, list(columns), ends=(0, 1), label=label or "|rank correlation|", axes=axes)


def latent_latent_map(codes: Any, *, label: str = "", axes: "Axes | None" = None) -> "Axes":
    """Draws a table of latents by latents as colors.

    Of `Codes` it is the absolute rank correlation of their means, else the table that was given.
    """
    if isinstance(codes, Codes):
        values, ends = np.abs(rank_correlations(_numbers(codes.mean))), (0.0, 1.0)
        label = label or "|rank correlation|"
    else:
        values = np.asarray(codes, dtype=float)
        ends = _from_zero(values)
    names = latent_names(len(values))
    return heat_map(values, names, names, ends=ends, label=label, axes=axes)


def latent_names(count: int) -> list[str]:
    """Returns what latents are called in figures: z0, z1, ..."""
    return [f"z{number}" for number in range(count)]


def rank_correlations(columns: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "column column"]:
    """Returns Spearman's rank correlation of all pairs of columns, over the rows in which both are known.

    It is NaN for a column that does not vary, or with fewer than three rows.
    """
    from scipy import stats

    count = columns.shape[1]
    found = np.full((count, count), np.nan)
    known = np.isfinite(columns)
    for i in range(count):
        for j in range(i + 1):
            both = known[:, i] & known[:, j]
            one, other = columns[both, i], columns[both, j]
            if both.sum() >= 3 and np.ptp(one) > 0 and np.ptp(other) > 0:
                ranks = stats.rankdata(one), stats.rankdata(other)
                found[i, j] = found[j, i] = np.corrcoef(*ranks)[0, 1]
    return found


def _from_zero(values: Float[np.ndarray, "..."]) -> tuple[float, float]:
    return min(0.0, float(np.nanmin(values))), float(np.nanmax(values))


def _numbers(tensor: Any) -> Float[np.ndarray, "..."]:
    array: Float[np.ndarray, ...] = tensor.detach().cpu().double().numpy()
    return array


def _ordered(labels: Labels) -> Float[np.ndarray, " image"]:
    """Returns the values of a factor, NaN where they are missing."""
    values = _numbers(labels.values)
    return values if labels.known is None else np.where(labels.known.cpu().numpy(), values, np.nan)
