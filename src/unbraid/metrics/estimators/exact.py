"""Information of Gaussian posteriors by quadrature."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

from unbraid.information.exact import Quadrature, exact_information, uses_cells
from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.estimators.estimator import OF_POSTERIORS, Deviations, Estimator, with_discrete
from unbraid.metrics.estimators.image_influences import density_influences
from unbraid.metrics.metric import Feature
from unbraid.metrics.reductions.statistics import Statistics


@final
@dataclass(frozen=True)
class Exact(Estimator):
    """Exact estimator: quadrature of mixtures of Gaussian posteriors, without bins or draws.

    Posteriors must have a std above 0. Errors are at most 1e-9 nats ("direct") or 1e-4 nats ("binned").
    """

    accepts: ClassVar[frozenset[Feature]] = OF_POSTERIORS

    quadrature: Quadrature = "auto"
    """Quadrature: "direct", "binned" for many images, or "auto" to choose by the number of images."""

    def information(self, statistics: Statistics) -> LatentInformation:
        def continuous() -> LatentInformation:
            return exact_information(statistics.codes.mean, statistics.std, statistics.values, self.quadrature)

        return statistics.once(self, lambda: with_discrete(statistics, continuous))

    def deviations(self, statistics: Statistics) -> tuple[Deviations, ...]:
        return ((density_influences(statistics), float(len(statistics.codes))),)

    def used(self, statistics: Statistics) -> dict[str, Any]:
        return {"quadrature": "binned" if uses_cells(len(statistics.codes), self.quadrature) else "direct"}
