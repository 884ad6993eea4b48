"""Information in binned means."""

from dataclasses import dataclass, replace
from typing import final

import torch

from unbraid.information.latent_information import LatentInformation
from unbraid.information.means_histogram import histogram_bins, means_histogram_information
from unbraid.information.quantised import QuantisedStatistics, Quantiser, statistics_of_masses
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator, with_discrete
from unbraid.metrics.estimators.image_influences import image_influences
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class MeansHistogram(Estimator):
    """Counts the means alone, in `num_bins` bins of equal width from the least to the greatest mean of each latent.

    It never sees the width of a posterior, and scores noise as if it were signal: for comparison with published numbers
    (Locatello et al., arXiv:1811.12359v4, have 20 bins; Do & Tran 100).
    """

    num_bins: int = 20
    """How many bins between the least and the greatest mean of a latent."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return OF_POSTERIORS | {"draws without densities", "means without std"}

    @property
    def resolution(self) -> int:
        return self.num_bins

    def finer(self) -> "MeansHistogram":
        return replace(self, num_bins=2 * self.num_bins)

    def information(self, statistics: Statistics) -> LatentInformation:
        def continuous() -> LatentInformation:
            return means_histogram_information(statistics.codes.mean, statistics.values, self.num_bins)

        return statistics.once(self, lambda: with_discrete(statistics, continuous))

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        def continuous() -> tuple[Quantiser, QuantisedStatistics]:
            values = statistics.values
            bins = histogram_bins(statistics.codes.mean, self.num_bins, values.weights)
            table = torch.eye(self.num_bins, dtype=torch.float64, device=bins.device)
            sums = statistics_of_masses(lambda rows: table[bins[rows]], bins.shape[1], self.num_bins, values)
            return lambda part: table[bins[statistics.influence_rows[part]]], sums

        found = statistics.once(("influences", self), lambda: image_influences(statistics, continuous))
        return ((found, float(len(statistics.codes))),)
