"""Information of each latent about the image that the other latents do not have."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from unbraid.metrics.separation_metric import Terms, WeightedSeparation


@final
@dataclass(frozen=True)
class SEPIN(WeightedSeparation):
    """Informativeness and separability of latents, SEPIN (Do & Tran, arXiv:1908.09961v4, section 3.2).

    SEPIN_i = I(x, z_i | z_not_i) = I(x, z) - I(x, z_not_i), in nats. The value is WSEPIN = sum_i rho_i SEPIN_i with
    rho_i = I(x, z_i) / sum_j I(x, z_j). Higher is better. The parts "SEPIN@k" are means of the k largest values.
    Negative information is clipped to 0 only in rho; the authors' code clips every term.
    """

    quantity: ClassVar[str] = "WSEPIN"

    def of_latents(self, terms: Terms) -> Tensor:
        return terms.joint - terms.without

    def tables_of(self, terms: Terms) -> dict[str, Tensor]:
        return {"informativeness_of_others": terms.without, "joint_informativeness": terms.joint[None]}
