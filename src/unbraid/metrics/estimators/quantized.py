"""Information of binned latents."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid._internal.progress import Event, emit
from unbraid.information.latent_information import LatentInformation, information_of_tables
from unbraid.information.quantized import (
    Bins,
    Masses,
    QuantizedStatistics,
    quantize,
    quantize_draws,
    quantized_statistics,
    statistics_of_masses,
)
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator, with_discrete
from unbraid.metrics.estimators.image_influences import Influences, image_influences
from unbraid.metrics.metric import Feature, Score
from unbraid.metrics.reductions.statistics import Statistics

# Largest mass outside the bins without a note. N(0, 1) has a mass of 6e-5 beyond 4.
_MAX_SHARE_BEYOND = 0.01


@final
@dataclass(frozen=True)
class Quantized(Estimator):
    """Information of latents in bins from `low` to `high`, with the masses of posteriors as in `Bins`.

    Do & Tran, arXiv:1908.09961v4, appendix A.10. The estimate is at most the exact information, except with
    `masses="rectangle"`. Posteriors with a std of 0 and codes with only draws are supported.
    """

    accepts: ClassVar[frozenset[Feature]] = OF_POSTERIORS | {"draws without densities"}

    num_bins: int = 100
    """Number of bins."""
    low: float = -4.0
    """Start of the first bin."""
    high: float = 4.0
    """End of the last bin."""
    masses: Masses = "erf_edge"
    """Method for the mass in a bin and the mass outside all bins; see Bins."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.bins  # checks the range and the masses

    @property
    def bins(self) -> Bins:
        return Bins(self.num_bins, self.low, self.high, self.masses)

    def information(self, statistics: Statistics) -> LatentInformation:
        def continuous() -> LatentInformation:
            sums = self.sums(statistics)
            return information_of_tables(sums.marginal, sums.joints, sums.entropy_given_image)

        return statistics.once(self, lambda: with_discrete(statistics, continuous))

    def sums(self, statistics: Statistics) -> QuantizedStatistics:
        """Returns the masses of the continuous latents in bins, summed over images."""

        def compute() -> QuantizedStatistics:
            emit(Event("quantized information"))
            samples, values = _only_draws(statistics), statistics.values
            if samples is None:
                return quantized_statistics(statistics.codes.mean, statistics.std, values, self.bins)
            return statistics_of_masses(
                lambda rows: quantize_draws(samples[:, rows], self.bins), samples.shape[2], self.num_bins, values
            )

        return statistics.once(("sums", self), compute)

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        return ((self.influences(statistics), float(len(statistics.codes))),)

    def influences(self, statistics: Statistics) -> Influences:
        """Returns the influence of sampled images on the information."""

        def masses(part: Int64[Tensor, " row"]) -> Tensor:
            rows, samples = statistics.influence_sample.rows[part], _only_draws(statistics)
            if samples is not None:
                return quantize_draws(samples[:, rows], self.bins)
            return quantize(statistics.codes.mean[rows], statistics.std[rows], self.bins)

        return statistics.once(
            ("influences", self), lambda: image_influences(statistics, lambda: (masses, self.sums(statistics)))
        )

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score. If bins are unsuitable for a latent, a note is added and `settled` is False.

        Bins are unsuitable if more than 1 % of the mass of a latent is outside, or if its std is below the bin width.
        """
        notes = []
        share = self.mass_beyond(statistics)
        if outside := (share > _MAX_SHARE_BEYOND).nonzero()[:, 0].tolist():
            named = ", ".join(f"{i} ({100 * float(share[i]):.3g} %)" for i in outside)
            notes.append(
                f"Latents {named} have mass outside the bins, which cover [{self.low:g}, {self.high:g}], so "
                "information is lost. Choose a range that covers the codes."
            )
        std, width = self._aggregate_std(statistics), (self.high - self.low) / self.num_bins
        if narrow := ((std > 0) & (std < width)).nonzero()[:, 0].tolist():
            named = ", ".join(f"{i} ({float(std[i]):.2g})" for i in narrow)
            notes.append(
                f"The bin width is {width:.2g}, more than the std of latents {named}, so information within a bin is "
                "lost. Choose a smaller range, or more bins."
            )
        if not notes:
            return score
        return replace(score, settled=None if math.isnan(score.value) else False, notes=(*score.notes, *notes))

    def _aggregate_std(self, statistics: Statistics) -> Float64[Tensor, " latent"]:
        """Returns the std of the aggregate posterior of each continuous latent.

        The std is computed from the influence sample, and is 0 if it is below the rounding error.
        """
        rows, weights = statistics.influence_sample.rows, statistics.influence_sample.weights
        p, samples = weights / weights.sum(), _only_draws(statistics)
        points = statistics.codes.mean[rows].double()[None] if samples is None else samples[:, rows].double()
        away = points - torch.einsum("n,dnl->l", p, points) / len(points)
        variance = torch.einsum("n,dnl->l", p, away.square()) / len(points)
        if samples is None:
            variance = variance + p @ statistics.std[rows].double().square()
        std = variance.sqrt()
        return torch.where(std > 1e-13 * points.abs().amax(dim=(0, 1)), std, 0.0)

    def mass_beyond(self, statistics: Statistics) -> Float64[Tensor, " latent"]:
        """Returns the mass of the aggregate posterior of each continuous latent below `low` or above `high`.

        The mass is computed from the influence sample.
        """
        rows, weights, codes = statistics.influence_sample.rows, statistics.influence_sample.weights, statistics.codes
        p, samples = weights / weights.sum(), _only_draws(statistics)
        if samples is not None:
            draws = samples[:, rows]
            return p @ ((draws < self.low) | (draws > self.high)).double().mean(dim=0)
        mean, std = codes.mean[rows].double(), statistics.std[rows].double()
        # With a std of 0, all mass of a posterior is inside or outside.
        scale = math.sqrt(2) * std.clamp(min=torch.finfo(torch.float64).tiny)
        below, above = torch.erfc((mean - self.low) / scale) / 2, torch.erfc((self.high - mean) / scale) / 2
        return p @ torch.where(std > 0, below + above, ((mean < self.low) | (mean > self.high)).double())


def _only_draws(statistics: Statistics) -> Tensor | None:
    """Returns the draws of codes without densities, and None for other codes."""
    return statistics.codes.samples if statistics.codes.marginal_std is None else None
