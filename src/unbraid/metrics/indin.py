"""The information of each latent about the image, less the information it shares with the others."""

from dataclasses import dataclass
from typing import ClassVar, final

from torch import Tensor

from unbraid.metrics.separation_metric import Terms, WeightedSeparation


@final
@dataclass(frozen=True)
class INDIN(WeightedSeparation):
    """Informativeness and independence of latents, INDIN (Do & Tran, arXiv:1908.09961v4, section 3.2).

    INDIN_i = I(x, z_i) - I(z_i, z_not_i), in nats; the value is WINDIN = sum_i rho_i INDIN_i, rho_i = I(x, z_i) / sum_j
    I(x, z_j). Higher is better. INDIN equals SEPIN where latents are independent given the image, draw by draw;
    otherwise INDIN is smaller by I(z_i, z_not_i | x). Parts "INDIN@k" are means of the k largest. Information is
    clipped at 0 only in rho; the authors' code clips it everywhere.
    """

    quantity: ClassVar[str] = "WINDIN"

    def of_latents(self, terms: Terms) -> Tensor:
        return terms.each - terms.separability

    def tables_of(self, terms: Terms) -> dict[str, Tensor]:
        return {"separability": terms.separability}
