"""Mean correlation coefficient of nonlinear ICA."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import scipy
import torch
from jaxtyping import Float64, Int64, Shaped
from torch import Tensor

from unbraid._internal import row_draws
from unbraid.codes import Labels
from unbraid.errors import CodesError
from unbraid.metrics.intervals import resampled_weights, spread
from unbraid.metrics.metric import OF_MEANS, Feature, Metric, Score, Value
from unbraid.metrics.reductions.gaps import among_factors
from unbraid.metrics.reductions.pearson import Unordered, has_order, label_numbers, standardized
from unbraid.metrics.reductions.statistics import MAX_INFLUENCE_ROWS, Statistics, unseen_note

Correlation = Literal["pearson", "spearman"]
Matching = Literal["strong", "weak"]

# Relative variance of a direction of standardized columns below which the variance is a rounding error.
_ROUNDING = 1e-10
# Distance below which canonical variates of variance 1 are equal up to rounding errors.
_TIED = 1e-8


@final
@dataclass(frozen=True)
class MCC(Metric):
    """Mean correlation coefficient of factors with their matched latents (Khemakhem et al., arXiv:1907.04809v4).

    MCC is the mean over factors of |corr(z_j, v_k)|, where z is the posterior mean and factors k are matched one-to-one
    to latents j to maximize the mean. Higher is better, at most 1. `correlation` is "pearson" for values or "spearman"
    for ranks. `matching="strong"` matches latents to factors. `matching="weak"` matches canonical variates, the linear
    maps of latents and of factors with the largest Pearson correlations. An unmatched factor counts as 0.
    """

    correlation: Correlation = "pearson"
    """Correlation coefficient: of values (pearson), or of ranks (spearman)."""
    matching: Matching = "strong"
    """Matched pairs: latents and factors (strong), or canonical variates (weak)."""
    unordered: Unordered = "left_out"
    """Whether to leave out factors with more than two unordered values, or correlate their value indices (numbered)."""
    num_samples: int | None = None
    """Maximum number of images, drawn at random with a fixed seed; None for all."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    accepts: ClassVar[frozenset[Feature]] = OF_MEANS | {"continuous factors"}
    quantity: ClassVar[str] = "mean correlation coefficient"

    def measure(self, statistics: Statistics) -> Score:
        unseen = unseen_note(statistics, statistics.drawn(self.num_samples))
        statistics = statistics.drawn(self.num_samples)
        codes, varies = statistics.codes, statistics.varies
        taken = [has_order(labels) or self.unordered == "numbered" for labels in codes.factors]
        places = [k for k, is_taken in enumerate(taken) if is_taken and varies[k]]
        skipped = [labels.name for k, labels in enumerate(codes.factors) if varies[k] and not taken[k]]
        if not places:
            raise CodesError(
                f"MCC: the values of {', '.join(skipped)} have no order; expected at least one factor with ordered or "
                "continuous values, or two values. Use unordered='numbered' to correlate value indices."
            )
        as_ranks = self.correlation == "spearman" and self.matching == "strong"
        columns = _Columns.of(codes.mean, [codes.factors[k] for k in places], as_ranks=as_ranks)
        found = self._numbers(columns, statistics.weights)
        error = self._error(columns, statistics.weights) if statistics.with_intervals else math.nan
        value = Value.from_standard_error(found["value"], error, self.bounds)
        fields: dict[str, Any] = {}
        if self.matching == "strong":
            fields["per_factor"] = among_factors(found["matched_correlation"], places, len(taken))
        return self.score(
            value,
            codes.factor_names,
            **fields,
            tables={
                # Canonical correlations are not for single factors.
                name: table if self.matching == "weak" else among_factors(table, places, len(taken))
                for name, table in found.items()
                if name != "value"
            },
            notes=(*unseen, *((f"{', '.join(skipped)} are left out: their values have no order.",) if skipped else ())),
        )

    @property
    def settings(self) -> dict[str, Any]:
        return {name: setting for name, setting in super().settings.items() if setting is not None}

    def _numbers(self, columns: "_Columns", weights: Float64[Tensor, " image"]) -> dict[str, Tensor]:
        """Returns the value and the tables. The last axis of tables is the included factors."""
        num_factors = columns.factors.shape[1]
        if self.matching == "weak":
            found = columns.canonical_correlations(weights, of_ranks=self.correlation == "spearman")
            return {"value": found.sum() / num_factors, "canonical_correlations": found}
        table = columns.correlations(weights)
        latents, factors = scipy.optimize.linear_sum_assignment(table.abs().cpu().numpy(), maximize=True)
        top, each = table.new_full((num_factors,), math.nan), table.new_zeros(num_factors)
        top[factors], each[factors] = table.new_tensor(latents), table[latents, factors].abs()
        return {"value": each.mean(), "correlations": table, "matched_latent": top, "matched_correlation": each}

    def _error(self, columns: "_Columns", weights: Float64[Tensor, " image"]) -> float:
        """Returns the standard error of the value, from resamples of a subset of the images."""
        rows = row_draws.permuted_rows(len(weights), 0, "mcc")[:MAX_INFLUENCE_ROWS].to(weights.device)
        some, p = columns.rows(rows), weights[rows]
        values = [
            self._numbers(some, share * p / (share @ p))["value"]
            for share in resampled_weights(len(rows)).to(p.device)
            if float(share @ p) > 0
        ]
        return float(spread(torch.stack(values))) * math.sqrt(len(rows) / len(weights))


@final
@dataclass(frozen=True)
class _Columns:
    """Latents and factors, as values or as positions in sorted order, and a mask of known labels."""

    latents: Shaped[Tensor, "image latent"]
    factors: Shaped[Tensor, "image factor"]
    known: Shaped[Tensor, "image factor"]

    @classmethod
    def of(cls, mean: Tensor, factors: Sequence[Labels], *, as_ranks: bool) -> "_Columns":
        labels = torch.stack([label_numbers(each).to(mean.device).double() for each in factors], dim=1)
        known = torch.stack([each.is_known.to(mean.device) for each in factors], dim=1)
        if as_ranks:
            return cls(_places(mean), _places(labels), known)
        return cls(mean.double(), torch.where(known, labels, 0.0), known)

    def rows(self, rows: Int64[Tensor, " row"]) -> "_Columns":
        return _Columns(self.latents[rows], self.factors[rows], self.known[rows])

    def correlations(self, weights: Float64[Tensor, " image"]) -> Float64[Tensor, "latent factor"]:
        """Returns the correlations of latents and factors, each over the images with a known label of the factor."""
        table = weights.new_zeros(self.latents.shape[1], self.factors.shape[1])
        for factors, rows in self._groups():
            p = weights[rows]
            if float(p.sum()) > 0:
                z, v = (_scaled(part[rows], p / p.sum()) for part in (self.latents, self.factors[:, factors]))
                table[:, factors] = (z.T @ (v * (p / p.sum())[:, None])).clamp(-1, 1)
        return table

    def canonical_correlations(
        self, weights: Float64[Tensor, " image"], *, of_ranks: bool = False
    ) -> Float64[Tensor, " pair"]:
        """Returns the canonical correlations of latents and factors, one per factor.

        Images with missing labels are excluded. If there are fewer canonical pairs than factors, the remaining
        correlations are 0. With `of_ranks`, the results are the rank correlations of the canonical pairs.
        """
        everywhere = self.known.all(dim=1)
        p = torch.where(everywhere, weights, 0.0)
        found = weights.new_zeros(self.factors.shape[1])
        if float(p.sum()) > 0:
            p = p / p.sum()
            z, v = (_whitened(_scaled(part, p), p) for part in (self.latents, self.factors))
            left, both, right = torch.linalg.svd(z.T @ (v * p[:, None]), full_matrices=False)
            if of_ranks and len(both):
                first, second = (_scaled(_tied(pair), p) for pair in (z @ left, v @ right.mT))
                both = (p @ (first * second)).abs()
            found[: len(both)] = both.clamp(0, 1)
        return found

    def _groups(self) -> Iterator[tuple[list[int], Tensor]]:
        """Yields groups of factors with labels for the same images, and masks of these images."""
        everywhere = self.known.all(dim=0)
        full = everywhere.nonzero()[:, 0].tolist()
        if full:
            yield full, torch.ones_like(self.known[:, 0])
        for k in (~everywhere).nonzero()[:, 0].tolist():
            yield [k], self.known[:, k]


def _places(columns: Shaped[Tensor, "image column"]) -> Int64[Tensor, "image column"]:
    """Returns the position of each value among the sorted unique values of its column."""
    return torch.stack([column.unique(return_inverse=True)[1] for column in columns.unbind(dim=1)], dim=1)


def _tied(columns: Float64[Tensor, "image column"]) -> Int64[Tensor, "image column"]:
    """Returns the position of each value in its sorted column, equal for values that differ by rounding errors."""
    ranked, order = columns.sort(dim=0)
    steps = torch.zeros_like(order)
    steps[1:] = (ranked.diff(dim=0) > _TIED).long().cumsum(dim=0)
    return torch.empty_like(order).scatter_(0, order, steps)


def _scaled(
    columns: Shaped[Tensor, "image column"], weights: Float64[Tensor, " image"]
) -> Float64[Tensor, "image column"]:
    """Standardizes columns. Positions are first replaced by ranks, with midranks for ties."""
    if columns.is_floating_point():
        return standardized(columns, weights)
    masses = weights.new_zeros(int(columns.max()) + 1, columns.shape[1])
    masses.scatter_add_(0, columns, weights[:, None].expand(columns.shape))
    return standardized((masses.cumsum(dim=0) - masses / 2).gather(0, columns), weights)


def _whitened(
    columns: Float64[Tensor, "image column"], weights: Float64[Tensor, " image"]
) -> Float64[Tensor, "image direction"]:
    """Returns uncorrelated directions of variance 1 with the same span as the columns."""
    variances, directions = torch.linalg.eigh(columns.T @ (columns * weights[:, None]))
    kept = variances > _ROUNDING * variances.amax().clamp(min=torch.finfo(torch.float64).tiny)
    return columns @ (directions[:, kept] / variances[kept].sqrt())
