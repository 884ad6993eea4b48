"""Information that each latent shares with all other latents."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from unbraid.information.delta_method import Averages
from unbraid.metrics.reductions.statistics import Statistics
from unbraid.metrics.sampled_metric import SampledEntropies
from unbraid.metrics.separation_metric import SeparationMetric


@final
@dataclass(frozen=True)
class Separability(SeparationMetric):
    """Information that each latent shares with all other latents, I(z_i, z_not_i) (Do & Tran, arXiv:1908.09961v4).

    I(z_i, z_not_i) = H(z_i) + H(z_not_i) - H(z), in nats (section 3.2). Lower is better; 0 means fully separable
    latents. The value is the mean over latents, and the parts are "max" and "min". Estimates may be negative due to
    noise.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    quantity: ClassVar[str] = "information shared with other latents"
    higher_is_better: ClassVar[bool | None] = False
    needs_factors: ClassVar[bool] = False

    def entropies(self, statistics: Statistics) -> SampledEntropies:
        return self.sampled(statistics)

    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        terms = self.terms(averages)
        shared = terms.separability
        return {
            "value": shared.mean(),
            "max": shared.max(),
            "min": shared.min(),
            "per_latent": shared,
            "latent_entropy": averages["each"],
            "entropy_of_others": averages["without"],
            "joint_entropy": averages["joint"][None],
        }
