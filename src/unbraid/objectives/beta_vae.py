"""VAE with a weight on the rate."""

from dataclasses import dataclass
from typing import ClassVar

from unbraid.config.schedule import Weight
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO
from unbraid.objectives.weight_advice import PENALIZE_TC, WeightAdvice, suggest, suggest_less


@dataclass(frozen=True)
class BetaVAE(CaseOfDecomposedELBO):
    """Beta-VAE loss: distortion + beta KL(q(z|x) || p(z)). Higgins et al., ICLR 2017, eq. 4.

    The KL is in closed form. The distortion is summed over pixels and the KL over latents, as in the paper. beta = 1 is
    the VAE.

    Examples:
        >>> from unbraid.config.schedule import Linear
        >>> BetaVAE(beta=4.0)
        BetaVAE(beta=4.0)
        >>> BetaVAE(beta=Linear(0.0, 4.0, finish=0.5)).beta.extremes()
        (0.0, 4.0)
    """

    beta: Weight = 4.0
    """Weight of the KL; beta = 1 is the VAE."""

    weights_are_nonnegative: ClassVar[bool] = True

    def weight_advice(self) -> WeightAdvice:
        return WeightAdvice(suggest_less(self, "beta"), suggest(self, "beta", 2), PENALIZE_TC)

    def general_form(self) -> DecomposedELBO:
        return DecomposedELBO(
            rate=self.beta,
            mutual_information=0.0,
            total_correlation=0.0,
            total_correlation_within=0.0,
            dimension_wise_kl=0.0,
        )
