"""Information in the binned means of some of the images."""

from dataclasses import dataclass, replace
from typing import final

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators.estimator import Deviations, Estimator
from unbraid.metrics.estimators.means_histogram import MeansHistogram
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class DrawnHistogram(Estimator):
    """Counts the means in bins as `MeansHistogram` does, of at most `num_samples` images, drawn with `seed`.

    For comparison with published numbers: so do the configuration files of disentanglement_lib (Locatello et al.,
    arXiv:1811.12359v4), with 20 bins and 10,000 images.
    """

    num_bins: int = 20
    """How many bins between the least and the greatest mean of a latent."""
    num_samples: int = 10_000
    """How many images are looked at, at most."""
    seed: int = 0
    """Which images are looked at."""

    @property
    def accepts(self) -> frozenset[Feature]:
        return self._histogram.accepts

    @property
    def resolution(self) -> int:
        return self.num_bins

    def finer(self) -> "DrawnHistogram":
        return replace(self, num_bins=2 * self.num_bins)

    def seen(self, statistics: Statistics) -> Statistics:
        return statistics.drawn(self.num_samples, self.seed)

    def sample(self, statistics: Statistics) -> Statistics:
        return self.seen(statistics).subset()

    def information(self, statistics: Statistics) -> LatentInformation:
        return self._histogram.information(self.seen(statistics))

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        return self._histogram.deviations(self.seen(statistics))

    @property
    def _histogram(self) -> MeansHistogram:
        return MeansHistogram(self.num_bins)
