"""Information in latents that are read through bins."""

import math
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid.events import Event, tell
from unbraid.information.latent_information import LatentInformation, information_of_tables
from unbraid.information.quantised import (
    Bins,
    Masses,
    QuantisedStatistics,
    quantise,
    quantise_draws,
    quantised_statistics,
    statistics_of_masses,
)
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator, with_discrete
from unbraid.metrics.estimators.image_influences import Influences, image_influences
from unbraid.metrics.metric import Feature, Score
from unbraid.metrics.reductions.statistics import Statistics

# Of N(0, 1), 6e-5 lies beyond 4: more than this beyond the range is not a tail.
_MAX_SHARE_BEYOND = 0.01


@final
@dataclass(frozen=True)
class Quantised(Estimator):
    """Reads the latents through `num_bins` bins from `low` to `high`, filled as `masses` says (see `Bins`).

    Do & Tran, arXiv:1908.09961v4, appendix A.10. Never more than the exact information, but for
    `masses="rectangle"`. It takes a std of 0, and codes that are known by draws alone.
    """

    num_bins: int = 100
    """How many bins."""
    low: float = -4.0
    """Where the first bin begins."""
    high: float = 4.0
    """Where the last bin ends."""
    masses: Masses = "erf_edge"
    """How bins are filled, and what becomes of what lies outside them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.bins  # checks the range and the masses

    @property
    def bins(self) -> Bins:
        return Bins(self.num_bins, self.low, self.high, self.masses)

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_POSTERIORS | {"draws without densities"}

    @property
    def resolution(self) -> int:
        return self.num_bins

    def finer(self) -> "Quantised":
        return replace(self, num_bins=2 * self.num_bins)

    def information(self, statistics: Statistics) -> LatentInformation:
        def continuous() -> LatentInformation:
            sums = self.sums(statistics)
            return information_of_tables(sums.marginal, sums.joints, sums.entropy_given_image)

        return statistics.once(self, lambda: with_discrete(statistics, continuous))

    def sums(self, statistics: Statistics) -> QuantisedStatistics:
        """Returns the masses of the continuous latents in bins, summed over images."""

        def compute() -> QuantisedStatistics:
            tell(Event("quantised information"))
            samples, values = _draws_alone(statistics), statistics.values
            if samples is None:
                return quantised_statistics(statistics.codes.mean, statistics.std, values, self.bins)
            return statistics_of_masses(
                lambda rows: quantise_draws(samples[:, rows], self.bins), samples.shape[2], self.num_bins, values
            )

        return statistics.once(("sums", self), compute)

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        return ((self.influences(statistics), float(len(statistics.codes))),)

    def influences(self, statistics: Statistics) -> Influences:
        """Returns what each of some images adds to the information."""

        def masses(part: Int64[Tensor, " row"]) -> Tensor:
            rows, samples = statistics.influence_rows[part], _draws_alone(statistics)
            if samples is not None:
                return quantise_draws(samples[:, rows], self.bins)
            return quantise(statistics.codes.mean[rows], statistics.std[rows], self.bins)

        return statistics.once(
            ("influences", self), lambda: image_influences(statistics, lambda: (masses, self.sums(statistics)))
        )

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score; if more than 1 % of a latent lies beyond the bins, with a note that says so, and not
        settled.
        """
        share = self.mass_beyond(statistics)
        latents = (share > _MAX_SHARE_BEYOND).nonzero()[:, 0].tolist()
        if not latents:
            return score
        named = ", ".join(f"{i} ({100 * float(share[i]):.3g} %)" for i in latents)
        note = (
            f"Beyond the bins, which span [{self.low:g}, {self.high:g}], lies part of latents {named}: what they say "
            "there is lost. Give low and high that hold the codes."
        )
        return replace(score, settled=None if math.isnan(score.value) else False, notes=(*score.notes, note))

    def mass_beyond(self, statistics: Statistics) -> Float64[Tensor, " latent"]:
        """Returns the share of each continuous latent's aggregate posterior below `low` or above `high`, from the
        images whose influences are known.
        """
        rows, weights, codes = statistics.influence_rows, statistics.influence_sample.weights, statistics.codes
        p, samples = weights / weights.sum(), _draws_alone(statistics)
        if samples is not None:
            draws = samples[:, rows]
            return p @ ((draws < self.low) | (draws > self.high)).double().mean(dim=0)
        mean, std = codes.mean[rows].double(), statistics.std[rows].double()
        # A std of 0 is taken for the least there is: all or nothing lies beyond.
        scale = math.sqrt(2) * std.clamp(min=torch.finfo(torch.float64).tiny)
        below, above = torch.erfc((mean - self.low) / scale) / 2, torch.erfc((self.high - mean) / scale) / 2
        return p @ torch.where(std > 0, below + above, ((mean < self.low) | (mean > self.high)).double())


def _draws_alone(statistics: Statistics) -> Tensor | None:
    """Returns the draws of codes whose posteriors have no density."""
    return statistics.codes.samples if statistics.codes.marginal_std is None else None
