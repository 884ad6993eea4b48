"""Intervals of averages over test points: by resampling, or in closed form for proportions."""

import math
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.metrics.metric import QUANTILE, Interval
from unbraid.metrics.reductions.statistics import NUM_RESAMPLES

# Half of the last digit in tables.
_SHOWN = 5e-4


def resampled_weights(
    num_points: int,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
    images: Int64[Tensor, " point"] | None = None,
) -> Float64[Tensor, "resample point"]:
    """Returns the weight of each point in bootstrap resamples, which are drawn with replacement. Rows sum to one.

    The averages of `x` over the resamples are `resampled_weights(len(x)) @ x`. Equal numbers of points and seeds give
    equal resamples, which preserves correlations between averages over the same points. With `images`, the image index
    of each point, images are resampled together with all of their points.
    """
    if images is not None:
        found, places = images.unique(return_inverse=True)
        shares = resampled_weights(len(found), seed, num_resamples)[:, places]
        return shares / shares.sum(dim=1, keepdim=True)
    points = row_draws.randint(num_points, (num_resamples, num_points), seed, "bootstrap")
    ones = torch.ones(points.shape, dtype=torch.float64)
    return torch.zeros(num_resamples, num_points, dtype=torch.float64).scatter_add_(1, points, ones) / num_points


def spread(resampled: Float[Tensor, " resample *numbers"]) -> Float[Tensor, " *numbers"]:
    """Returns the standard error, the std over the resamples that are not NaN; NaN for fewer than two resamples."""
    defined = ~resampled.isnan()
    count = defined.sum(dim=0)
    centered = torch.where(defined, resampled - resampled.nanmean(dim=0), 0.0)
    variance = centered.square().sum(dim=0) / (count - 1).clamp(min=1)
    return torch.where(count >= 2, variance.sqrt(), math.nan)


def wilson(share: float, num_points: int) -> Interval:
    """Returns the 95 % Wilson interval of a binomial proportion (Wilson, JASA 1927)."""
    z2 = QUANTILE**2
    middle = (share + z2 / (2 * num_points)) / (1 + z2 / num_points)
    half = QUANTILE / (1 + z2 / num_points) * math.sqrt(share * (1 - share) / num_points + z2 / (4 * num_points**2))
    # Includes `share` despite rounding errors.
    return min(share, max(0.0, middle - half)), max(share, min(1.0, middle + half))


def by_image(influence: Float64[Tensor, " point"], images: Int64[Tensor, " point"] | None) -> Float64[Tensor, " point"]:
    """Sums the influences of all points of an image into the first point of the image, and sets the others to 0.

    Without `images`, each point is a separate image.
    """
    if images is None:
        return influence
    found, places = images.unique(return_inverse=True)
    totals = influence.new_zeros(len(found)).index_add_(0, places, influence)
    first = torch.full_like(found, len(images)).scatter_reduce_(0, places, torch.arange(len(images)), "amin")
    return torch.zeros_like(influence).scatter_(0, first, totals)


def error_of_factor_mean(influences: Sequence[Float64[Tensor, " _row"]]) -> float:
    """Returns the standard error of a mean over factors, given the influence of each row on the result of each factor.

    The error is NaN without factors. Factors with equal numbers of rows are assumed to use the same rows, and other
    factors to be independent.
    """
    if not influences:
        return math.nan
    if len({len(influence) for influence in influences}) == 1:
        together = torch.stack(tuple(influences)).mean(dim=0)
        return float(together.square().mean().sqrt()) / math.sqrt(len(together))
    return math.sqrt(sum(float(part.square().mean()) / len(part) for part in influences)) / len(influences)


def settled_by_half(value: float, with_half: float, interval: Any, what: str) -> tuple[bool | None, tuple[str, ...]]:
    """Returns whether the score with half of `what` differs by at most the half-width of the interval, and a note."""
    if interval is None or math.isnan(value) or math.isnan(with_half):
        return None, ()
    half_width = max(interval[1] - value, value - interval[0])
    # Differences below the digits of tables are ignored, because an interval may have width 0.
    if abs(with_half - value) <= half_width + _SHOWN:
        return True, ()
    moved = f"{with_half - value:+.2g} away and outside the interval"
    return False, (f"With half of the {what} the score is {with_half:.4g}, {moved}. More {what} may change the score.",)
