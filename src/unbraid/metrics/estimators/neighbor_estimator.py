"""What estimators from nearest neighbors have in common, whatever their neighbors are."""

import functools
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import torch

from unbraid.codes import Labels
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators.estimator import Deviations, Estimator
from unbraid.metrics.metric import Score
from unbraid.metrics.reductions.statistics import Statistics

_MAX_SHARE_OF_FEW = 0.05

Estimated = tuple[LatentInformation, tuple[Deviations, ...]]
"""What each unit says of each factor, and what each image adds to it."""


@dataclass(frozen=True)
class NeighborEstimator(Estimator):
    """An estimator that looks at the `k` nearest neighbors of each image, once for information and deviations."""

    has_entropies: ClassVar[bool] = False
    units: ClassVar[str] = "nearest neighbors"

    k: int = 3
    """How many nearest neighbors of an image are looked at."""

    @abstractmethod
    def estimate(self, statistics: Statistics) -> Estimated:
        """Returns the information with its deviations."""

    @property
    def resolution(self) -> int:
        return self.k

    def finer(self) -> Self | None:
        return None if self.k == 1 else replace(self, k=self.k // 2)

    def sample(self, statistics: Statistics) -> Statistics:
        """Returns all images: a smaller sample may hold an image twice, as its own nearest neighbor."""
        return statistics

    def information(self, statistics: Statistics) -> LatentInformation:
        return self._kept(statistics)[0]

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        return self._kept(statistics)[1]

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score; if a good part of the images have fewer kin than `k`, with a note that says so."""
        codes = self.seen(statistics).codes
        few = [labels.name for labels in codes.factors if _share_of_few(labels, self.k) > _MAX_SHARE_OF_FEW]
        if not few:
            return score
        note = (
            f"k is {self.k}, but many images have fewer others with the same value of {', '.join(few)}: all "
            "of these were taken. Use a smaller k, or give more images."
        )
        return replace(score, notes=(*score.notes, note))

    def _kept(self, statistics: Statistics) -> Estimated:
        return statistics.once(self, functools.partial(self.estimate, statistics))


def _share_of_few(labels: Labels, k: int) -> float:
    """Returns the share of images that have fewer than `k` others to choose from: of all if the factor is continuous,
    else of their own value.
    """
    known = labels.is_known
    if labels.is_continuous:
        return float(int(known.sum()) <= k)
    values = labels.assignment()
    sizes = torch.bincount(values[values >= 0])
    return float(sizes[sizes <= k].sum() / sizes.sum())
