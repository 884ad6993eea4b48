"""The VAE with a heavier rate."""

from dataclasses import dataclass
from typing import final

from unbraid.objectives.decomposed_elbo import DecomposedELBO
from unbraid.objectives.objective import Loss, Objective, Step, check_weights
from unbraid.schedule import Weight


@final
@dataclass(frozen=True)
class BetaVAE(Objective):
    """distortion + beta KL(q(z|x) || p(z)), with the KL in closed form. Higgins et al., ICLR 2017, eq. 4.

    beta = 1 is the VAE. Sums over pixels: a published beta means the same here.

    Examples:
        >>> from unbraid.schedule import Linear
        >>> BetaVAE(beta=4.0)
        BetaVAE(beta=4.0)
        >>> BetaVAE(beta=Linear(0.0, 4.0, finish=0.5)).beta.extremes()
        (0.0, 4.0)
    """

    beta: Weight = 4.0
    """Weight of the KL; 1 is the VAE."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self)

    def __call__(self, step: Step) -> Loss:
        return self.general()(step)

    def general(self) -> DecomposedELBO:
        return DecomposedELBO(
            rate=self.beta,
            mutual_information=0.0,
            total_correlation=0.0,
            total_correlation_within=0.0,
            dimension_wise_kl=0.0,
        )
