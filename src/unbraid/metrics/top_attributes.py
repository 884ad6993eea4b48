"""Top attributes: the latent most correlated with each attribute, and its correlations with other attributes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.errors import CodesError
from unbraid.metrics.intervals import spread
from unbraid.metrics.metric import OF_MEANS, Feature, Interval, Metric, Score, Value
from unbraid.metrics.reductions.pearson import Unordered, correlate_with_factors, means_std
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import NOT_NEGATIVE


@final
@dataclass(frozen=True)
class TopAttributes(Metric):
    """Mean over attributes k of max_i |corr(z_i, y_k)|, where z is the posterior mean. Between 0 and 1.

    Kumar et al., *DIP-VAE*, arXiv:1711.00848v1, section 3 and figure 2. The table "top_latent" contains the latent most
    correlated with each attribute. "top_attributes" and "top_correlations" have one row per attribute, with the indices
    of the `num_top` other attributes most correlated with this latent, and their correlations. The part "runner_up" is
    the mean over attributes of the largest of these correlations. The part "margin" is the value minus "runner_up". If
    the margin is small, latents are correlated with several attributes, possibly because the attributes are correlated.
    """

    num_top: int = 4
    """Number of other attributes to list per attribute."""
    min_std: float = 0.0
    """Minimum std of the means of a scored latent, e.g. 0.05 to exclude dead latents."""
    attributes: tuple[str, ...] = ()
    """Names of the attributes over which the value and the parts are averaged; empty for all."""
    unordered: Unordered = "left_out"
    """Whether to leave out attributes with more than two unordered values, or correlate value indices (numbered)."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS | {"continuous factors"}
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"min_std": NOT_NEGATIVE})
    quantity: ClassVar[str] = "correlation of attributes with their best latent"

    def measure(self, statistics: Statistics) -> Score:
        codes, weights = statistics.codes, statistics.weights
        matrix, resampled, skipped = correlate_with_factors(codes, weights, self.unordered, statistics.num_resamples)
        if self.min_std > 0:
            dead = means_std(codes.mean, weights) < self.min_std
            matrix, resampled = (torch.where(dead[:, None], 0.0, table) for table in (matrix, resampled))
        varies = torch.tensor(statistics.varies, device=matrix.device)
        matrix, resampled = torch.where(varies, matrix, math.nan), torch.where(varies, resampled, math.nan)
        if bool(matrix.isnan().all()):
            raise CodesError(
                f"TopAttributes: the values of {', '.join(skipped)} have no order; expected at least one factor with "
                "ordered or continuous values, or two values. Use unordered='numbered' to correlate value indices."
            )
        top, best = _top_latents(matrix)
        of_these = self._places(codes.factor_names)
        mean_best = best[of_these].nanmean()
        best_resampled = _top_latents(resampled)[1][:, of_these].nanmean(dim=-1)
        value = Value.from_standard_error(mean_best, spread(best_resampled), self.bounds)
        others, correlations = _other_attributes(matrix, top, self.num_top)
        runner_up = _runner_up(matrix, top, of_these)
        others_resampled = torch.tensor([float(_runner_up(one, top, of_these)) for one in resampled]).to(best_resampled)
        return self.score(
            value,
            codes.factor_names,
            parts={
                "runner_up": Value.from_standard_error(runner_up, spread(others_resampled), self.bounds),
                "margin": Value.from_standard_error(
                    mean_best - runner_up, spread(best_resampled - others_resampled), (-1.0, 1.0)
                ),
            },
            per_factor=best,
            tables={
                "latent_factor": matrix,
                "top_latent": top,
                "top_attributes": others,
                "top_correlations": correlations,
            },
            notes=(f"{', '.join(skipped)} are left out: their values have no order.",) if skipped else (),
        )

    def _places(self, names: Sequence[str]) -> list[int]:
        """Returns the indices of `attributes`. Raises CodesError if a factor does not exist."""
        for name in self.attributes:
            if name not in names:
                raise CodesError(f"TopAttributes: unknown attribute {name!r}. Use one of {', '.join(names)}.")
        return [place for place, name in enumerate(names) if not self.attributes or name in self.attributes]


def _top_latents(matrix: Float64[Tensor, "*resample latent factor"]) -> tuple[Tensor, Tensor]:
    """Returns the latent with the largest |correlation| for each attribute, and this |correlation|.

    For ties, the latent is the first one. It is -1 if all correlations are NaN.
    """
    sizes = matrix.abs()
    best = sizes.amax(dim=-2)
    # Not argmax of `sizes`, which may return any of the tied latents.
    ties = sizes >= best[..., None, :]
    first = ties.to(torch.int8).argmax(dim=-2)
    return torch.where(best.isnan(), -1, first), best


def _other_attributes(
    matrix: Float64[Tensor, "latent factor"], top: Int64[Tensor, " factor"], num_top: int
) -> tuple[Float64[Tensor, "factor place"], Float64[Tensor, "factor place"]]:
    """Returns the other attributes most correlated with the latent of each attribute, and the correlations.

    Missing entries are NaN.
    """
    by_attribute = _of_others(matrix, top)
    order = (
        by_attribute.abs()
        .nan_to_num(-1.0)
        .sort(dim=1, descending=True, stable=True)
        .indices[:, : min(num_top, len(top) - 1)]
    )
    correlations = by_attribute.gather(1, order)
    return torch.where(correlations.isnan(), math.nan, order.double()), correlations


def _runner_up(
    matrix: Float64[Tensor, "latent factor"], top: Int64[Tensor, " factor"], of_these: list[int]
) -> Float64[Tensor, ""]:
    """Returns the mean over attributes of the largest |correlation| of their latent with another attribute.

    The mean is NaN if there is only one attribute.
    """
    sizes = _of_others(matrix, top).abs()[of_these]
    largest = sizes.nan_to_num(-1.0).amax(dim=1)
    return torch.where(largest < 0, math.nan, largest).nanmean()


def _of_others(
    matrix: Float64[Tensor, "latent factor"], top: Int64[Tensor, " factor"]
) -> Float64[Tensor, "factor factor"]:
    """Returns the correlations of the latent of attribute k with all other attributes in row k; NaN on the diagonal."""
    rows = torch.where((top >= 0)[:, None], matrix[top], math.nan)
    return rows.clone().fill_diagonal_(math.nan)
