"""The information of each latent about the image that no other latent has."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from unbraid.metrics.separation_metric import Terms, WeightedSeparation


@final
@dataclass(frozen=True)
class SEPIN(WeightedSeparation):
    """Informativeness and separability of latents, SEPIN (Do & Tran, arXiv:1908.09961v4, section 3.2).

    SEPIN_i = I(x, z_i | z_not_i) = I(x, z) - I(x, z_not_i), in nats; the value is WSEPIN = sum_i rho_i SEPIN_i, rho_i =
    I(x, z_i) / sum_j I(x, z_j). Higher is better. The parts "SEPIN@k" are means of the k largest values. Only rho clips
    information at 0; the authors' code clips everywhere.
    """

    quantity: ClassVar[str] = "WSEPIN"

    def of_latents(self, terms: Terms) -> Tensor:
        return terms.joint - terms.without

    def tables_of(self, terms: Terms) -> dict[str, Tensor]:
        return {"informativeness_of_others": terms.without, "joint_informativeness": terms.joint[None]}
