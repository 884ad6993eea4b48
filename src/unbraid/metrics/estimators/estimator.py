"""What an estimator of information is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from unbraid.config import Config
from unbraid.information.latent_information import LatentInformation, joined
from unbraid.information.quantized import discrete_information
from unbraid.metrics.metric import Feature, Score, Value
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.settings import check_sizes

Deviations = tuple[Mapping[str, Tensor], float]
"""What each row adds to the fields of `LatentInformation`, by name, and how many rows (images or draws) there were."""

# What every estimator takes that counts posteriors or integrates them.
OF_POSTERIORS: frozenset[Feature] = frozenset(
    {"soft labels", "missing labels", "weights", "correlated posteriors", "discrete latents"}
)


@dataclass(frozen=True)
class Estimator(Config, ABC):
    """A config for what each latent says of the image and of each factor, in nats. Its settings are its fields.

    What it computes from codes is kept in their `Statistics` under the config itself, so that metrics with equal
    estimators share it.
    """

    # Whether it finds the entropies of latents; without, only mutual information and the entropies of factors.
    has_entropies: ClassVar[bool] = True
    # What its twin has more of, or fewer.
    units: ClassVar[str] = "bins"

    def __post_init__(self) -> None:
        """Checks types and sizes of the settings; an estimator with checks of its own calls this first."""
        super().__post_init__()
        check_sizes(self)

    @property
    @abstractmethod
    def accepts(self) -> frozenset[Feature]:
        """Returns what the codes may have beyond means, stds and a full set of discrete labels."""

    @abstractmethod
    def information(self, statistics: Statistics) -> LatentInformation:
        """Returns the estimate."""

    @abstractmethod
    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        """Returns what each row adds to the estimate. Several sets of rows err independently of each other."""

    @property
    def num_bins(self) -> int | None:
        """Returns how many values a continuous latent is reduced to; None where its entropies are differential."""
        return None

    @property
    def resolution(self) -> int:
        """Returns how many `units` it has."""
        return 0

    def seen(self, statistics: Statistics) -> Statistics:
        """Returns the images that it looks at: all, unless it is told to look at some."""
        return statistics

    def sample(self, statistics: Statistics) -> Statistics:
        """Returns the images on which it is compared with its twin."""
        return statistics.subset()

    def finer(self) -> "Estimator | None":
        """Returns its twin of a higher resolution; None where there is nothing to refine."""
        return None

    def change(self, value: Callable[[LatentInformation], float], statistics: Statistics) -> tuple[float, str] | None:
        """Returns how far its twin moves the value, on a sample of the images, and what that twin is."""
        finer = self.finer()
        if finer is None:
            return None
        some = self.sample(statistics)
        moved = value(finer.information(some)) - value(self.information(some))
        return moved, f"{finer.resolution} {self.units} in place of {self.resolution}"

    def used(self, statistics: Statistics) -> dict[str, Any]:
        """Returns the settings that these codes decided, with what they were."""
        del statistics
        return {}

    def checked(self, score: Score, statistics: Statistics) -> Score:
        """Returns the score, with a note if these codes do not suit the estimator."""
        del statistics
        return score


def settled(
    value: Value, change: tuple[float, str] | None, rounding: float = 1e-9
) -> tuple[bool | None, tuple[str, ...]]:
    """Returns whether a finer estimate stays within the interval of the value (None if that cannot be told), and a note
    if not.
    """
    if change is None or value.interval is None or math.isnan(change[0]):
        return None, ()
    (moved, what), (low, high) = change, value.interval
    # Rounding is no change: a perfect code has an interval of no width.
    if low - rounding <= value.value + moved <= high + rounding:
        return True, ()
    return False, (f"{what} would move it by {moved:+.2g}, more than its interval.",)


def with_discrete(statistics: Statistics, continuous: Callable[[], LatentInformation]) -> LatentInformation:
    """Returns the estimate of the continuous latents, if there are any, then that of the discrete ones, exactly."""
    found = [continuous()] if statistics.codes.mean.shape[1] > 0 else []
    if statistics.codes.probabilities:
        found.append(discrete_information(statistics.codes.probabilities, statistics.values))
    return joined(found)
