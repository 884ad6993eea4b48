"""Base class of information estimators."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from torch import Tensor

from unbraid.config import Config
from unbraid.information.latent_information import LatentInformation, joined
from unbraid.information.quantized import discrete_information
from unbraid.metrics.metric import Feature, Score, Value
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import check_sizes

Deviations = tuple[Mapping[str, Tensor], float]
"""The influence of each row (image or draw) on the fields of `LatentInformation`, by name, and the number of rows."""

# The properties of codes that estimators from posteriors accept.
OF_POSTERIORS: frozenset[Feature] = frozenset(
    {"soft labels", "missing labels", "weights", "correlated posteriors", "discrete latents"}
)


@dataclass(frozen=True)
class Estimator(Config, ABC):
    """Base class of estimators of the information of each latent about the image and each factor, in nats.

    Estimates are cached in the `Statistics` of the codes by config, so that metrics with equal estimators share the
    estimates.
    """

    # Whether the estimator computes entropies of latents, or only mutual information and entropies of factors.
    has_entropies: ClassVar[bool] = True
    # The unit of `resolution`.
    units: ClassVar[str] = "bins"

    def __post_init__(self) -> None:
        """Checks the types and ranges of the settings. Overrides must call this method first."""
        super().__post_init__()
        check_sizes(self)

    @property
    @abstractmethod
    def accepts(self) -> frozenset[Feature]:
        """Properties that codes may have beyond means, stds and a full set of discrete labels."""

    @abstractmethod
    def information(self, statistics: Statistics) -> LatentInformation:
        """Returns the estimate."""

    @abstractmethod
    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        """Returns the influence of each row on the estimate, for sets of rows with independent errors."""

    @property
    def num_bins(self) -> int | None:
        """Number of bins of a latent; None if entropies are differential."""
        return None

    @property
    def resolution(self) -> int:
        """Resolution, in `units`."""
        return self.num_bins or 0

    def seen(self, statistics: Statistics) -> Statistics:
        """Returns the statistics of the images used by the estimate, by default all images."""
        return statistics

    def sample(self, statistics: Statistics) -> Statistics:
        """Returns the statistics of the images used for the comparison with `finer()`."""
        return statistics.subset()

    def finer(self) -> Self | None:
        """Returns an estimator with a higher resolution, by default twice the bins, or None if there is none."""
        changes: dict[str, Any] = {} if self.num_bins is None else {"num_bins": 2 * self.num_bins}
        return replace(self, **changes) if changes else None

    def change(self, value: Callable[[LatentInformation], float], statistics: Statistics) -> tuple[float, str] | None:
        """Returns the change of the value with the finer estimator on a sample of images, and its description."""
        finer = self.finer()
        if finer is None:
            return None
        some = self.sample(statistics)
        moved = value(finer.information(some)) - value(self.information(some))
        return moved, f"{finer.resolution} {self.units} instead of {self.resolution}"

    def used(self, statistics: Statistics) -> dict[str, Any]:
        """Returns the settings that depend on the codes."""
        del statistics
        return {}

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score, with a note if the estimator is unsuitable for the codes."""
        del statistics
        return score


def settled(
    value: Value, change: tuple[float, str] | None, rounding: float = 1e-9
) -> tuple[bool | None, tuple[str, ...]]:
    """Returns whether a finer estimate is within the interval of the value, and a note if it is not.

    Returns None if the change or the interval is unknown.
    """
    if change is None or value.interval is None or math.isnan(change[0]):
        return None, ()
    (moved, what), (low, high) = change, value.interval
    # Changes below the rounding error are ignored, because the interval of a perfect code has width 0.
    if low - rounding <= value.value + moved <= high + rounding:
        return True, ()
    return False, (f"{what} would change the score by {moved:+.2g}, to a value outside its interval.",)


def with_discrete(statistics: Statistics, continuous: Callable[[], LatentInformation]) -> LatentInformation:
    """Concatenates the estimate for continuous latents, if any, and the exact information of discrete latents."""
    found = [continuous()] if statistics.codes.mean.shape[1] > 0 else []
    if statistics.codes.probabilities:
        found.append(discrete_information(statistics.codes.probabilities, statistics.values))
    return joined(found)
