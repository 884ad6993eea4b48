"""Information of each latent about the image, minus the information shared with other latents."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from unbraid.metrics.separation_metric import Terms, WeightedSeparation


@final
@dataclass(frozen=True)
class INDIN(WeightedSeparation):
    """Informativeness and independence of latents, INDIN (Do & Tran, arXiv:1908.09961v4, section 3.2).

    INDIN_i = I(x, z_i) - I(z_i, z_not_i), in nats. The value is WINDIN = sum_i rho_i INDIN_i with rho_i = I(x, z_i) /
    sum_j I(x, z_j). Higher is better. INDIN equals SEPIN for latents that are independent given the image. For other
    latents, INDIN is smaller by I(z_i, z_not_i | x). The parts "INDIN@k" are means of the k largest values. Negative
    information is clipped to 0 only in rho; the authors' code clips every term.
    """

    quantity: ClassVar[str] = "WINDIN"

    def of_latents(self, terms: Terms) -> Tensor:
        return terms.each - terms.separability

    def tables_of(self, terms: Terms) -> dict[str, Tensor]:
        return {"separability": terms.separability}
