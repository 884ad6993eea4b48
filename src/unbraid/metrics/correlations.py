"""Correlations between latents, and between latents and factors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, final

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.metrics.intervals import spread
from unbraid.metrics.metric import OF_MEANS, Feature, Interval, Metric, Score, Value
from unbraid.metrics.reductions import pearson
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import NOT_NEGATIVE


@final
@dataclass(frozen=True)
class Correlations(Metric):
    """Mean over i < j of |corr(z_i, z_j)|, where z is the posterior mean. Between 0 and 1; lower is better.

    The table "deterministic" contains the correlations of the means, and "stochastic" the correlations of one draw from
    each posterior (Do & Tran, arXiv:1908.09961v4, appendix A.6). "latent_factor" contains the correlations of means and
    factors (Kumar et al., arXiv:1711.00848v1, tables 3 and 4). Correlations of a constant latent are 0. Dead latents
    may have strong correlations, so latents whose means have a std below `min_std` can be excluded. Their entries are
    NaN, and the part "num_active" is the number of the other latents. Factors with more than two unordered values are
    NaN, unless `unordered` is "numbered".
    """

    seed: int = 0
    """Seed of the draws for stochastic correlations."""
    min_std: float = 0.0
    """Minimum std of the means of a scored latent, e.g. 0.05 to exclude dead latents."""
    unordered: pearson.Unordered = "left_out"
    """Whether to leave out factors with more than two unordered values, or correlate their value indices."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS | {"continuous factors", "soft labels"}
    quantity: ClassVar[str] = "mean correlation of latents"
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False
    ranges: ClassVar[Mapping[str, Interval]] = MappingProxyType({"min_std": NOT_NEGATIVE})

    def measure(self, statistics: Statistics) -> Score:
        if self.min_std == 0:
            return self._of(statistics)
        active = pearson.means_std(statistics.codes.mean, statistics.weights) >= self.min_std
        kept = active.nonzero()[:, 0].tolist()
        # If no latent is active, latent 0 is scored, and `_among_all` replaces its score by NaN.
        return _among_all(self._of(statistics.of_latents(kept or [0])), active, self.min_std)

    def _of(self, statistics: Statistics) -> Score:
        mean, weights = statistics.codes.mean, statistics.weights
        number = statistics.num_resamples
        deterministic = pearson.correlate(mean, None, weights, num_resamples=number)
        stochastic = _of_draws(statistics, self.seed)
        value, parts = _values(deterministic)
        tables = {"deterministic": deterministic.matrix.clone().fill_diagonal_(1.0)}
        if stochastic is not None:
            parts["stochastic"] = _values(stochastic)[0]
            tables["stochastic"] = stochastic.matrix.clone().fill_diagonal_(1.0)
        notes = _notes(deterministic.matrix)
        if statistics.codes.factors:
            tables["latent_factor"], _, skipped = pearson.correlate_with_factors(
                statistics.codes, weights, self.unordered, 0
            )
            if skipped:
                notes += (f"The values of {', '.join(skipped)} have no order, so their correlations are undefined.",)
        return self.score(
            value,
            parts=parts,
            per_latent=_mean_of_others(deterministic.matrix),
            tables=tables,
            notes=notes,
        )


def _among_all(score: Score, active: Bool[Tensor, " latent"], min_std: float) -> Score:
    """Expands the score of the active latents to all latents, with NaN for inactive latents."""
    count = int(active.sum())

    def blanked(table: Tensor, num_axes: int) -> Tensor:
        full = table.new_full((len(active),) * num_axes + table.shape[num_axes:], math.nan)
        if count:
            where = active.nonzero()[:, 0]
            full[(where[:, None], where) if num_axes == 2 else where] = table
        return full

    left_out = (~active).nonzero()[:, 0].tolist()
    notes = (
        (f"Latents {left_out} are left out, because the std of their means is below {min_std:g}.",) if left_out else ()
    )
    return replace(
        score,
        parts={**score.parts, "num_active": Value(float(count))},
        per_latent=tuple(
            blanked(torch.tensor(score.per_latent, dtype=torch.float64, device=active.device), 1).tolist()
        ),
        tables={name: blanked(table, 1 if name == "latent_factor" else 2) for name, table in score.tables.items()},
        notes=(*(note for note in score.notes if count), *notes),
    )


def _of_draws(statistics: Statistics, seed: int) -> pearson.PearsonCorrelations | None:
    """Returns the correlations of one draw from each posterior, or of all draws of codes without a std.

    Returns None for codes with only means.
    """
    codes, number = statistics.codes, statistics.num_resamples
    if statistics.given_draws is None and codes.marginal_std is None:
        if codes.samples is None:
            return None
        z, num_draws = codes.samples.flatten(0, 1), len(codes.samples)
        return pearson.correlate(z, None, statistics.weights.repeat(num_draws) / num_draws, len(codes), number)
    if statistics.given_draws is None and codes.std is not None:
        # `statistics.draws` refuses a std of 0. Here, a draw with a std of 0 is the mean.
        weights = None if codes.weights is None else statistics.weights
        rows = row_draws.draw_rows(len(codes), len(codes), seed, "draws/images", weights).to(codes.std.device)
        noise = row_draws.randn((len(codes), codes.mean.shape[1]), seed, "draws/noise").to(codes.std.device)
        z = codes.mean[rows].double() + codes.std[rows].double() * noise
    else:
        z = statistics.draws(len(codes), seed).z
    equal = torch.full((len(z),), 1 / len(z), dtype=torch.float64, device=z.device)
    # Weighted images are drawn with replacement, which increases the variance.
    num_images = len(z) if codes.weights is None else 1 / (1 / len(z) + 1 / statistics.num_effective_images)
    return pearson.correlate(z, None, equal, num_images, number)


def _values(correlations: pearson.PearsonCorrelations) -> tuple[Value, dict[str, Value]]:
    """Returns the mean absolute correlation over pairs of latents, and the largest absolute correlation as a part."""

    def reduce(matrix: Float64[Tensor, "*resample latent latent"]) -> Float64[Tensor, "*resample 2"]:
        row, column = torch.triu_indices(matrix.shape[-1], matrix.shape[-1], offset=1, device=matrix.device)
        sizes = matrix[..., row, column].abs()
        # NaN for a single latent, which has no pair.
        least = matrix.new_full((*matrix.shape[:-2], 1), 0.0 if matrix.shape[-1] > 1 else math.nan)
        return torch.stack([sizes.mean(dim=-1), torch.cat([sizes, least], dim=-1).amax(dim=-1)], dim=-1)

    numbers, errors = reduce(correlations.matrix), spread(correlations.resampled(reduce))
    mean, largest = (Value.from_standard_error(*of, Correlations.bounds) for of in zip(numbers, errors, strict=True))
    return mean, {"largest": largest}


def _mean_of_others(matrix: Float64[Tensor, "latent latent"]) -> Float64[Tensor, " latent"]:
    """Returns the mean of |corr(z_i, z_j)| over all j other than i."""
    sizes = matrix.abs().clone().fill_diagonal_(0.0)
    return sizes.sum(dim=1) / (len(matrix) - 1) if len(matrix) > 1 else torch.full_like(sizes[0], math.nan)


def _notes(matrix: Float64[Tensor, "latent latent"]) -> tuple[str, ...]:
    if len(matrix) == 1:
        return ("The codes have only one latent, so there are no correlations between latents.",)
    # The diagonal is 1 for latents that vary, and 0 for constant latents.
    still = (matrix.diagonal() < 0.5).nonzero()[:, 0].tolist()
    return (f"The means of latents {still} are constant, so their correlations are 0.",) if still else ()
