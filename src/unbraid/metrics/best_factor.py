"""How much each latent says of the factor that it says most of."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from unbraid.information.latent_information import LatentInformation
from unbraid.metrics.information_metric import InformationMetric
from unbraid.metrics.metric import Interval
from unbraid.metrics.reductions.gaps import varies


@final
@dataclass(frozen=True)
class BestFactor(InformationMetric):
    """max_k I(z_i; v_k), in nats, latent by latent, and the mean over latents. Neither good nor bad.

    Do & Tran, arXiv:1908.09961v4, Fig. 23, show the tables that it is the largest of each row of: for latents that say
    nothing, binned means (`MeansHistogram()`) find information where q(z | x) has none.
    """

    bounds: ClassVar[Interval] = (0.0, math.inf)
    quantity: ClassVar[str] = "information on the best factor"
    higher_is_better: ClassVar[bool | None] = None
    needs_factor_entropy: ClassVar[bool] = False
    by_name_only: ClassVar[bool] = True

    @property
    def limits(self) -> Interval:
        return (-math.inf, math.inf)

    def numbers(self, information: LatentInformation) -> dict[str, Tensor]:
        most = information.mutual_information[:, varies(information.factor_entropy)].amax(dim=1)
        return {"value": most.mean(), "per_latent": most}
