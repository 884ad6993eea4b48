"""What estimators from nearest neighbours have in common, whatever their neighbours are."""

import functools
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators.estimator import Deviations, Estimator
from unbraid.metrics.reductions.statistics import Statistics

Estimated = tuple[LatentInformation, tuple[Deviations, ...]]
"""What each unit says of each factor, and what each image adds to it."""


@dataclass(frozen=True)
class NeighbourEstimator(Estimator):
    """An estimator that looks at the `k` nearest neighbours of each image, once for information and deviations."""

    has_entropies: ClassVar[bool] = False
    units: ClassVar[str] = "nearest neighbours"

    k: int = 3
    """How many nearest neighbours of an image are looked at."""

    @abstractmethod
    def estimate(self, statistics: Statistics) -> Estimated:
        """Returns the information with its deviations."""

    @property
    def resolution(self) -> int:
        return self.k

    def finer(self) -> Self | None:
        return None if self.k == 1 else replace(self, k=self.k // 2)

    def sample(self, statistics: Statistics) -> Statistics:
        """Returns all images: a smaller sample may hold an image twice, as its own nearest neighbour."""
        return statistics

    def information(self, statistics: Statistics) -> LatentInformation:
        return self._kept(statistics)[0]

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        return self._kept(statistics)[1]

    def _kept(self, statistics: Statistics) -> Estimated:
        return statistics.once(self, functools.partial(self.estimate, statistics))
