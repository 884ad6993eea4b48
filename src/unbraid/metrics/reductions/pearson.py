"""Pearson correlations of columns, with resamples of the images."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Codes, Labels
from unbraid.metrics.reductions.statistics import MAX_INFLUENCE_ROWS, NUM_RESAMPLES

# Relative rounding error of the mean of equal numbers.
_ROUNDING = 1e-13

Unordered = Literal["left_out", "numbered"]
"""Treatment of factors with more than two unordered values: no correlations, or correlations of value indices."""
# Approximate number of entries in a block of resamples: 64 MB.
_BLOCK_NUMBERS = 8_000_000


@final
@dataclass(frozen=True)
class PearsonCorrelations:
    """Correlation matrix of the columns of two tables, with resamples.

    `one` and `other` are standardized rows of the tables. `multipliers` are the weights of these rows in each resample.
    """

    matrix: Float64[Tensor, "row column"]
    one: Float64[Tensor, "image row"]
    other: Float64[Tensor, "image column"]
    multipliers: Float64[Tensor, "resample image"]

    def resampled(
        self, reduce: Callable[[Tensor], Tensor] = lambda matrices: matrices
    ) -> Float64[Tensor, "resample ..."]:
        """Applies `reduce` to the matrices of resamples of the images, in blocks."""
        if len(self.multipliers) == 0:
            return reduce(self.matrix[None])[:0]
        num_resamples = max(1, _BLOCK_NUMBERS // max(self.other.numel(), self.matrix.numel()))
        return torch.cat([reduce(self._scattered(part)) for part in self.multipliers.split(num_resamples)])

    def _scattered(self, multipliers: Float64[Tensor, "resample image"]) -> Float64[Tensor, "resample row column"]:
        # One matrix product computes all resamples.
        scaled = (multipliers.T[:, :, None] * self.other[:, None, :]).flatten(1)
        products = (self.one.T @ scaled).unflatten(1, (len(multipliers), -1)).transpose(0, 1)
        squares = (multipliers @ self.one.square())[:, :, None] + (multipliers @ self.other.square())[:, None, :]
        return (self.matrix + products - self.matrix * squares / 2).clamp(-1, 1)


def correlate(
    one: Float[Tensor, "image row"],
    other: Float[Tensor, "image column"] | None,
    weights: Float64[Tensor, " image"],
    num_images: int | float | None = None,
    num_resamples: int = NUM_RESAMPLES,
) -> PearsonCorrelations:
    """Computes the correlations r_ij = sum_n p(n) u_ni v_nj of the columns of two tables, or of one table.

    u and v are the standardized columns; r_ij is 0 for a constant column. The influence of an image on r_ij is
    (u_ni v_nj - r_ij (u_ni^2 + v_nj^2) / 2) p(n). Resamples add influences with random normal factors (multiplier
    bootstrap), which preserves correlations between entries. `weights` must sum to one. `num_images` is the number of
    independent images, by default the number of rows.
    """
    u = standardized(one, weights)
    v = u if other is None else standardized(other, weights)
    matrix = (u.T @ (v * weights[:, None])).clamp(-1, 1)
    rows = _some_rows(len(u)).to(u.device)
    noise = row_draws.randn((num_resamples, len(rows)), 0, "correlations").to(u.device)
    scale = len(weights) / math.sqrt(len(rows) * (num_images or len(weights)))
    return PearsonCorrelations(matrix, u[rows], v[rows], noise * weights[rows] * scale)


def standardized(
    values: Float[Tensor, "image column"], weights: Float64[Tensor, " image"]
) -> Float64[Tensor, "image column"]:
    """Standardizes columns with the weighted mean and std. Constant columns become 0."""
    values = values.double()
    deviation = values - weights @ values
    std = (weights @ deviation.square()).sqrt()
    varies = std > _ROUNDING * values.abs().amax(dim=0)
    return torch.where(varies, deviation / torch.where(varies, std, 1.0), 0.0)


def correlate_with_factors(
    codes: Codes,
    weights: Float64[Tensor, " image"],
    unordered: Unordered = "left_out",
    num_resamples: int = NUM_RESAMPLES,
) -> tuple[Float64[Tensor, "latent factor"], Float64[Tensor, "resample latent factor"], tuple[str, ...]]:
    """Returns the correlations of latent means and factors, their resamples, and the names of excluded factors.

    The correlation with a factor is computed from the images with a known label. Factors with more than two unordered
    values are excluded and have columns of NaN; with `unordered` "numbered", their value indices are used. Two
    unordered values are treated as 0 and 1, because their order changes only the sign.
    """
    num_latents, num_factors = codes.mean.shape[1], len(codes.factors)
    matrix = torch.full((num_latents, num_factors), math.nan, dtype=torch.float64, device=codes.mean.device)
    resampled = matrix.repeat(num_resamples, 1, 1)
    usable = [
        k
        for k, labels in enumerate(codes.factors)
        if has_order(labels) or (unordered == "numbered" and not labels.is_soft)
    ]
    everywhere = [k for k in usable if codes.factors[k].known is None]
    for part in [everywhere, *([k] for k in usable if codes.factors[k].known is not None)]:
        known = codes.factors[part[0]].known if part else None
        rows = slice(None) if known is None else known
        total = weights[rows].sum()
        if not part or float(total) == 0:
            continue
        labels = torch.stack([label_numbers(codes.factors[k])[rows].double() for k in part], dim=1)
        found = correlate(codes.mean[rows], labels, weights[rows] / total, num_resamples=num_resamples)
        matrix[:, part], resampled[:, :, part] = found.matrix, found.resampled()
    return matrix, resampled, tuple(labels.name for k, labels in enumerate(codes.factors) if k not in usable)


def means_std(mean: Float[Tensor, "image latent"], weights: Float64[Tensor, " image"]) -> Float64[Tensor, " latent"]:
    """Returns the std of the means of each latent, weighted by p(n)."""
    deviation = mean.double() - weights @ mean.double()
    return (weights @ deviation.square()).sqrt()


def has_order(labels: Labels) -> bool:
    """Returns whether correlations with the labels are defined, for continuous or ordered factors, or two values."""
    if labels.is_soft:
        return False
    return labels.ordered or int(labels.assignment().max()) < 2


def label_numbers(labels: Labels) -> Int64[Tensor, " image"] | Float64[Tensor, " image"]:
    """Returns continuous labels unchanged, and integer labels minus the smallest known label.

    The subtraction avoids rounding when large integers are converted to floats. Integers whose differences exceed 64
    bits are unchanged.
    """
    if labels.is_continuous:
        return labels.values.double()
    values = labels.values.long()
    known = values if labels.known is None else values[labels.known]
    if len(known) == 0 or int(known.max()) - int(known.min()) > torch.iinfo(torch.int64).max:
        return values
    return values - known.min()


def _some_rows(num_rows: int) -> Int64[Tensor, " row"]:
    if num_rows <= MAX_INFLUENCE_ROWS:
        return torch.arange(num_rows)
    return row_draws.permuted_rows(num_rows, 0, "correlations")[:MAX_INFLUENCE_ROWS]
