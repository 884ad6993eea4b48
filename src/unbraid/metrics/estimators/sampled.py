"""Information as an average over draws."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

from unbraid.information.latent_information import LatentInformation
from unbraid.information.posteriors import Draws
from unbraid.information.sampled import LogDensities, log_densities
from unbraid.information.sampled_factors import sampled_information
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator
from unbraid.metrics.estimators.image_influences import Influences, density_influences
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics

Groups = tuple[tuple[int, ...], ...]
"""Sets of latents, by index."""

FIRST_HALF = "The first half of the draws instead of all draws"


@final
@dataclass(frozen=True)
class Sampled(Estimator):
    """Monte Carlo average over draws from the aggregate posterior (Chen et al., arXiv:1802.04942v5, section 4.1).

    Densities refer to the mixture over all images. Soft labels are not supported, because a draw must have one value
    of each factor.
    """

    accepts: ClassVar[frozenset[Feature]] = OF_POSTERIORS - {"soft labels"}

    num_samples: int = 10_000
    """Number of draws from the aggregate posterior."""
    seed: int = 0
    """Seed of the draws."""

    def draws(self, statistics: Statistics) -> Draws:
        return statistics.draws(self.num_samples, self.seed)

    def log_densities(self, statistics: Statistics, groups: Groups | None = None) -> LogDensities:
        """Returns log q of the mixture of all images at the draws, for `groups`, by default the groups of the codes."""
        groups = statistics.codes.groups if groups is None else groups

        def compute() -> LogDensities:
            return log_densities(statistics.posteriors, self.draws(statistics), groups)

        return statistics.once_for_all_factors(("log_densities", self, groups), compute)

    def information(self, statistics: Statistics) -> LatentInformation:
        return self._estimate(statistics)[0]

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        of_images = density_influences(statistics), float(len(statistics.codes))
        return of_images, (self._estimate(statistics)[1], float(len(self.draws(statistics))))

    def change(self, value: Callable[[LatentInformation], float], statistics: Statistics) -> tuple[float, str]:
        """Returns the change of the value with the first half of the draws, without computing new densities."""
        found, deviations = self._estimate(statistics)
        num_draws = len(self.draws(statistics))
        half = {name: getattr(found, name) + part[: num_draws // 2].mean(dim=0) for name, part in deviations.items()}
        moved = value(LatentInformation(**(vars(found) | half))) - value(found)
        return moved, FIRST_HALF

    def used(self, statistics: Statistics) -> dict[str, Any]:
        """Returns the number of draws if the draws were given, and no settings otherwise."""
        given = statistics.given_draws
        return {} if given is None else {"num_samples": len(given), "seed": None}

    def _estimate(self, statistics: Statistics) -> tuple[LatentInformation, Influences]:
        return statistics.once(
            self, lambda: sampled_information(statistics.posteriors, self.draws(statistics), statistics.values)
        )
