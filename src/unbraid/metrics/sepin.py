"""What each latent says of the image that no other latent says."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from unbraid.information.delta import Averages
from unbraid.metrics.sampled_entropies import SampledEntropies
from unbraid.metrics.separation_metric import SeparationMetric, check_normaliser, normalised, ranked_means, with_normaliser
from unbraid.metrics.statistics import Statistics


@final
@dataclass(frozen=True)
class SEPIN(SeparationMetric):
    """SEPIN_i = I(x, z_i | z_not_i) = I(x, z) - I(x, z_not_i), in nats; the value is WSEPIN = sum_i rho_i SEPIN_i, rho_i = I(x, z_i) / sum_j I(x, z_j).

    Do & Tran, arXiv:1908.09961v4, section 3.2. Higher is better. Parts "SEPIN@k" are means of the k largest. An information is clipped at 0 inside rho
    only; their code clips everywhere. `normalise_bins` divides SEPIN_i by H(z_i) in so many bins from -4 to 4, whose own error the interval leaves out.
    """

    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    needs_factors: ClassVar[bool] = False

    normalise_bins: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_normaliser(type(self).__name__, self.normalise_bins)

    def entropies(self, statistics: Statistics) -> SampledEntropies:
        return with_normaliser(self.sampled(statistics), statistics, self.normalise_bins)

    def numbers(self, averages: Averages) -> dict[str, Tensor]:
        terms = self.terms(averages)
        per_latent = normalised(terms.joint - terms.without, averages)
        return {
            "value": terms.shares() @ per_latent,
            **ranked_means(per_latent, "SEPIN"),
            "per_latent": per_latent,
            "shares": terms.shares(),
            "informativeness": terms.each,
            "informativeness_of_others": terms.without,
            "joint_informativeness": terms.joint[None],
        }
