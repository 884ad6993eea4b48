"""Information in binned means."""

from dataclasses import dataclass, replace
from typing import final

import torch

from unbraid.information.latent_information import LatentInformation
from unbraid.information.quantized import (
    QuantizedStatistics,
    Quantizer,
    histogram_bins,
    means_histogram_information,
    statistics_of_masses,
)
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator, with_discrete
from unbraid.metrics.estimators.image_influences import image_influences
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class MeansHistogram(Estimator):
    """Counts the means alone, in `num_bins` bins of equal width from the least to the greatest mean of each latent.

    It ignores the width of a posterior, and scores noise as if it were signal: for comparison with published numbers
    (Locatello et al., arXiv:1811.12359v4, have 20 bins and, in their configuration files, 10,000 images; Do & Tran 100
    bins).
    """

    num_bins: int = 20
    """How many bins between the least and the greatest mean of a latent."""

    num_samples: int | None = None
    """How many images are read, at most, drawn at random and always the same; without it all."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_POSTERIORS | {"draws without densities", "means without std"}

    @property
    def resolution(self) -> int:
        return self.num_bins

    def finer(self) -> "MeansHistogram":
        return replace(self, num_bins=2 * self.num_bins)

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples)

    def sample(self, statistics: Statistics) -> Statistics:
        return self.seen(statistics).subset()

    def information(self, statistics: Statistics) -> LatentInformation:
        seen = self.seen(statistics)

        def continuous() -> LatentInformation:
            return means_histogram_information(seen.codes.mean, seen.values, self.num_bins)

        return seen.once(self, lambda: with_discrete(seen, continuous))

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        seen = self.seen(statistics)

        def continuous() -> tuple[Quantizer, QuantizedStatistics]:
            values = seen.values
            bins = histogram_bins(seen.codes.mean, self.num_bins, values.weights)
            table = torch.eye(self.num_bins, dtype=torch.float64, device=bins.device)
            sums = statistics_of_masses(lambda rows: table[bins[rows]], bins.shape[1], self.num_bins, values)
            return lambda part: table[bins[seen.influence_rows[part]]], sums

        found = seen.once(("influences", self), lambda: image_influences(seen, continuous))
        return ((found, float(len(seen.codes))),)
