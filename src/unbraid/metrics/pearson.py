"""Pearson correlations of columns, and how they would scatter in other samples of as many images."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid import sampling
from unbraid.codes import Codes, Labels
from unbraid.metrics.bootstrap import NUM_RESAMPLES
from unbraid.metrics.label_numbers import label_numbers
from unbraid.metrics.statistics import MAX_INFLUENCE_ROWS

# The mean of equal numbers differs from them by a few units of the last digit; a deviation below this share of the
# numbers is such rounding.
_ROUNDING = 1e-13


@final
@dataclass(frozen=True)
class Correlations:
    """`matrix` holds the correlation of each column of one table with each of another; `resampled` the same for other
    samples of the images.
    """

    matrix: Float64[Tensor, "row column"]
    resampled: Float64[Tensor, "resample row column"]


def correlate(
    one: Float[Tensor, "image row"],
    other: Float[Tensor, "image column"] | None,
    weights: Float64[Tensor, " image"],
    num_images: int | float | None = None,
) -> Correlations:
    """r_ij = sum_n p(n) u_ni v_nj, where u and v are the columns of two tables (or of one, twice) less their mean, over
    their std.

    0 where a column never varies. One image moves r_ij by (u_ni v_nj - r_ij (u_ni^2 + v_nj^2) / 2) p(n), to first
    order. Resamples add these with random normal factors (the multiplier bootstrap), which keeps the correlations
    between entries and takes one matrix product. `weights` sums to one; `num_images` is how many independent images the
    rows are worth, if not as many as there are rows.
    """
    u = standardised(one, weights)
    v = u if other is None else standardised(other, weights)
    matrix = (u.T @ (v * weights[:, None])).clamp(-1, 1)
    rows = _some_rows(len(u)).to(u.device)
    u, v = u[rows], v[rows]
    influence = u[:, :, None] * v[:, None, :] - matrix * (u.square()[:, :, None] + v.square()[:, None, :]) / 2
    influence = influence * (weights[rows] * len(weights))[:, None, None]
    noise = sampling.normal((NUM_RESAMPLES, len(rows)), 0, "correlations").to(u.device)
    scatter = (noise @ influence.flatten(1)).unflatten(1, matrix.shape) / math.sqrt(
        len(rows) * (num_images or len(weights))
    )
    return Correlations(matrix, (matrix + scatter).clamp(-1, 1))


def standardised(
    values: Float[Tensor, "image column"], weights: Float64[Tensor, " image"]
) -> Float64[Tensor, "image column"]:
    """Each column less its mean, over its std (both weighted by p(n)); zeros for a column that never varies."""
    values = values.double()
    deviation = values - weights @ values
    std = (weights @ deviation.square()).sqrt()
    varies = std > _ROUNDING * values.abs().amax(dim=0)
    return torch.where(varies, deviation / torch.where(varies, std, 1.0), 0.0)


def correlate_with_factors(codes: Codes, weights: Float64[Tensor, " image"]) -> tuple[Correlations, tuple[str, ...]]:
    """Each latent's means with each factor, over the images in which it is known; and the factors that have no order,
    whose columns are NaN.

    Two values without an order count as 0 and 1: either order gives the same correlation up to its sign.
    """
    num_latents, num_factors = codes.mean.shape[1], len(codes.factors)
    matrix = torch.full((num_latents, num_factors), math.nan, dtype=torch.float64, device=codes.mean.device)
    resampled = matrix.repeat(NUM_RESAMPLES, 1, 1)
    usable = [k for k, labels in enumerate(codes.factors) if has_order(labels)]
    everywhere = [k for k in usable if codes.factors[k].known is None]
    for part in [everywhere, *([k] for k in usable if codes.factors[k].known is not None)]:
        known = codes.factors[part[0]].known if part else None
        rows = slice(None) if known is None else known
        total = weights[rows].sum()
        if not part or float(total) == 0:
            continue
        labels = torch.stack([label_numbers(codes.factors[k])[rows].double() for k in part], dim=1)
        found = correlate(codes.mean[rows], labels, weights[rows] / total)
        matrix[:, part], resampled[:, :, part] = found.matrix, found.resampled
    return Correlations(matrix, resampled), tuple(
        labels.name for k, labels in enumerate(codes.factors) if k not in usable
    )


def has_order(labels: Labels) -> bool:
    """Whether the values can be correlated with: measurements, ordered values, or two values."""
    if labels.is_soft:
        return False
    return labels.ordered or int(labels.assignment().max()) < 2


def _some_rows(num_rows: int) -> Int64[Tensor, " row"]:
    if num_rows <= MAX_INFLUENCE_ROWS:
        return torch.arange(num_rows)
    return sampling.permuted_rows(num_rows, 0, "correlations")[:MAX_INFLUENCE_ROWS]
