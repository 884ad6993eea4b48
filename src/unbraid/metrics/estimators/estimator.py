"""Base class of estimators of information."""

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

# The properties of codes that estimators from posteriors take.
OF_POSTERIORS: frozenset[Feature] = frozenset(
    {"soft labels", "missing labels", "weights", "correlated posteriors", "discrete latents"}
)


@dataclass(frozen=True)
class Estimator(Config, ABC):
    """An estimator of the information of each latent about the image and each factor, in nats.

    Estimates are stored in the `Statistics` of the codes under the config itself, so that metrics with equal estimators
    share them.
    """

    # Whether it estimates entropies of latents, or only mutual information and the entropies of factors.
    has_entropies: ClassVar[bool] = True
    # The unit of `resolution`.
    units: ClassVar[str] = "bins"

    def __post_init__(self) -> None:
        """Checks the types and ranges of the settings. An override calls this first."""
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
        """Returns the influence of each row on the estimate. Sets of rows have independent errors."""

    @property
    def num_bins(self) -> int | None:
        """Number of values of a binned latent; None if its entropies are differential."""
        return None

    @property
    def resolution(self) -> int:
        """Resolution, in `units`."""
        return self.num_bins or 0

    def seen(self, statistics: Statistics) -> Statistics:
        """Returns the statistics of the images for the estimate, by default all."""
        return statistics

    def sample(self, statistics: Statistics) -> Statistics:
        """Returns the statistics of the images for the comparison with `finer()`."""
        return statistics.subset()

    def finer(self) -> Self | None:
        """Returns the estimator with a higher resolution, by default twice the bins; None without a finer one."""
        changes: dict[str, Any] = {} if self.num_bins is None else {"num_bins": 2 * self.num_bins}
        return replace(self, **changes) if changes else None

    def change(self, value: Callable[[LatentInformation], float], statistics: Statistics) -> tuple[float, str] | None:
        """Returns the change of the value by the finer estimator, on a sample of the images, and its description."""
        finer = self.finer()
        if finer is None:
            return None
        some = self.sample(statistics)
        moved = value(finer.information(some)) - value(self.information(some))
        return moved, f"{finer.resolution} {self.units} in place of {self.resolution}"

    def used(self, statistics: Statistics) -> dict[str, Any]:
        """Returns the settings that depend on these codes."""
        del statistics
        return {}

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score, with a note if the estimator does not fit these codes."""
        del statistics
        return score


def settled(
    value: Value, change: tuple[float, str] | None, rounding: float = 1e-9
) -> tuple[bool | None, tuple[str, ...]]:
    """Returns whether a finer estimate is within the interval of the value (None if unknown), and a note if not."""
    if change is None or value.interval is None or math.isnan(change[0]):
        return None, ()
    (moved, what), (low, high) = change, value.interval
    # Rounding is no change: the interval of a perfect code has no width.
    if low - rounding <= value.value + moved <= high + rounding:
        return True, ()
    return False, (f"{what} would move it by {moved:+.2g}, more than its interval.",)


def with_discrete(statistics: Statistics, continuous: Callable[[], LatentInformation]) -> LatentInformation:
    """Returns the estimate of continuous latents, if any, concatenated with the exact information of discrete ones."""
    found = [continuous()] if statistics.codes.mean.shape[1] > 0 else []
    if statistics.codes.probabilities:
        found.append(discrete_information(statistics.codes.probabilities, statistics.values))
    return joined(found)
