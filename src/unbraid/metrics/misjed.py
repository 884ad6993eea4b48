"""Dependence of pairs of latents, computed from bins."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.information.latent_information import entropy
from unbraid.information.quantized import Bins, own_bin
from unbraid.metrics.estimators import Quantized
from unbraid.metrics.estimators.estimator import settled
from unbraid.metrics.metric import Feature, Metric, Score, Value
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import ANY_LABELS, labels_aside

_MAX_BINS = 10_000
# With more cells, only cells that contain images are stored.
_MAX_DENSE_CELLS = 4_000_000


@final
@dataclass(frozen=True)
class MISJED(Metric):
    """MISJED, the mean over pairs of latents of (H(z_i) + H(z_j) - H(mean_i, mean_j)) / (2 log B) with B bins.

    Lower is better. Do & Tran, arXiv:1908.09961v4, section 3.2 ("mutual information sums joint entropy difference").
    H(z_i) is the entropy of the aggregate posterior in the bins of `estimator`. The joint entropy is computed from the
    posterior means. Table 5 of the paper uses 50 bins. The score is not a mutual information: it is larger for wide
    posteriors and may be negative. The tables contain the matrix in nats and the normalized matrix.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, 1.0)
    accepts: ClassVar[frozenset[Feature]] = ANY_LABELS | {"weights", "correlated posteriors", "draws without densities"}
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False

    estimator: Quantized = Quantized()
    """Estimator of entropies."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator.num_bins > _MAX_BINS:
            raise SpecError(
                f"MISJED: num_bins is {self.estimator.num_bins}; expected at most {_MAX_BINS:,}, because pairs of "
                "latents have num_bins**2 cells. Use fewer bins."
            )

    def measure(self, statistics: Statistics) -> Score:
        statistics = labels_aside(statistics)
        table = _table(statistics, self.estimator)
        pairs = tuple(combinations(range(len(table)), 2))
        if not pairs:
            notes: tuple[str, ...] = ("The score is undefined, because the codes have only one latent.",)
            value, is_settled = Value(math.nan), None
        else:
            error, change = math.nan, None
            if statistics.with_intervals:
                error = _standard_error(statistics, self.estimator, pairs) / _scale(self.estimator)
                change = self._change(statistics, pairs)
            value = Value.from_standard_error(_mean(table, pairs) / _scale(self.estimator), error, self.bounds)
            is_settled, notes = settled(value, change)
        score = self.score(
            value,
            tables={"misjed": table, "misjed_normalized": table / _scale(self.estimator)},
            settled=is_settled,
            notes=notes,
        )
        return self.estimator.checked(score, statistics)

    def _change(self, statistics: Statistics, pairs: Sequence[tuple[int, int]]) -> tuple[float, str]:
        """Returns the change of the value with twice as many bins, on a subset of the images."""
        some, finer = statistics.subset(), replace(self.estimator, num_bins=2 * self.estimator.num_bins)
        before, after = (_mean(_table(some, each), pairs) / _scale(each) for each in (self.estimator, finer))
        return after - before, f"{finer.num_bins} bins instead of {self.estimator.num_bins}"


def _scale(estimator: Quantized) -> float:
    return 2 * math.log(estimator.num_bins)


def _mean(table: Float64[Tensor, "latent latent"], pairs: Sequence[tuple[int, int]]) -> float:
    first, second = zip(*pairs, strict=True)
    return float(table[list(first), list(second)].mean())


def _table(statistics: Statistics, estimator: Quantized) -> Float64[Tensor, "latent latent"]:
    """Returns the matrix H(z_i) + H(z_j) - H(mean_i, mean_j), in nats."""
    alone = entropy(estimator.sums(statistics).marginal)
    bins = estimator.bins
    places = _places(statistics, bins)
    table = alone[:, None] + alone
    for i in range(len(table)):
        for j in range(i, len(table)):
            table[i, j] -= entropy(_histogram(statistics, places, i, j, bins)[0])
            table[j, i] = table[i, j]
    return table


def _places(statistics: Statistics, bins: Bins) -> Int64[Tensor, "latent image"]:
    """Returns the bin index of each mean."""
    return statistics.once(
        ("bins_of_means", bins), lambda: own_bin(statistics.codes.mean.T, bins.edges(statistics.codes.mean.device))
    )


def _histogram(
    statistics: Statistics, places: Int64[Tensor, "latent image"], i: int, j: int, bins: Bins
) -> tuple[Float64[Tensor, " cell"], Int64[Tensor, " image"]]:
    """Returns the mass of each cell of the means of two latents, and the cell index of each image."""
    weights = None if statistics.codes.weights is None else statistics.weights
    cells, num_cells = places[i] * bins.num_bins + places[j], bins.num_bins**2
    if num_cells > _MAX_DENSE_CELLS:
        cells, num_cells = cells.unique(return_inverse=True)[1], 0
    counts = torch.bincount(cells, weights, minlength=num_cells)
    return counts.double() / counts.sum(), cells


def _standard_error(statistics: Statistics, estimator: Quantized, pairs: Sequence[tuple[int, int]]) -> float:
    """Returns the standard error of the mean over pairs.

    The error is computed from the influence of each image on the entropies, -log Q(bin of the image) - H.
    """
    rows, bins = statistics.influence_sample.rows, estimator.bins
    places = _places(statistics, bins)
    scale = statistics.influence_sample.weights * statistics.influence_sample.correction
    alone = estimator.influences(statistics)["entropy"]
    total = alone.new_zeros(len(rows))
    for i, j in pairs:
        masses, cells = _histogram(statistics, places, i, j, bins)
        own = masses[cells[rows]]
        # Cells that contain only images with a weight of 0 are empty and have no influence.
        surprise = torch.where(own > 0, -own.clamp(min=torch.finfo(torch.float64).tiny).log(), 0.0)
        total += alone[:, i] + alone[:, j] - scale * (surprise - entropy(masses))
    return float(total.square().mean().sqrt() / len(pairs) / math.sqrt(len(statistics.codes)))
