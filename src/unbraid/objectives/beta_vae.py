"""The VAE with a weight on the rate."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO
from unbraid.objectives.levers import PENALIZE_TC, Levers, moved, smaller


@dataclass(frozen=True)
class BetaVAE(CaseOfDecomposedELBO):
    """distortion + beta KL(q(z|x) || p(z)), with the KL in closed form. Higgins et al., ICLR 2017, eq. 4.

    beta = 1 is the VAE. Sums over pixels: a published beta means the same here.

    Examples:
        >>> from unbraid.config.schedule import Linear
        >>> BetaVAE(beta=4.0)
        BetaVAE(beta=4.0)
        >>> BetaVAE(beta=Linear(0.0, 4.0, finish=0.5)).beta.extremes()
        (0.0, 4.0)
    """

    beta: Weight = 4.0
    """Weight of the KL; 1 is the VAE."""

    weights_are_nonnegative: ClassVar[bool] = True

    def levers(self) -> Levers:
        return Levers(smaller(self, "beta"), moved(self, "beta", 2), PENALIZE_TC)

    def general(self) -> DecomposedELBO:
        return DecomposedELBO(
            rate=self.beta,
            mutual_information=0.0,
            total_correlation=0.0,
            total_correlation_within=0.0,
            dimension_wise_kl=0.0,
        )
