"""The beta-VAE with discrete latents beside continuous ones."""

from dataclasses import dataclass
from typing import final

from unbraid.objectives.beta_vae import BetaVAE
from unbraid.objectives.decomposed_elbo import DecomposedELBO
from unbraid.objectives.objective import Loss, Objective, Step, check_weights
from unbraid.schedule import Weight


@final
@dataclass(frozen=True)
class BetaSVAE(Objective):
    """distortion + beta (KL of the continuous latents + KL of the discrete ones). Esmaeili et al., arXiv:1804.02086v1,
    section 6.

    It is beta-VAE on a structured code: give the model `GroupedLatents`. A discrete latent counts by its probabilities,
    so its KL is sum_c q_c (log q_c - log p_c); with the measure "density" there is no closed form, and log q(z|x) - log
    p(z) of the draw stands in for it.
    """

    beta: Weight = 4.0
    """Weight of the KL."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_weights(self)

    def __call__(self, step: Step) -> Loss:
        return self.general()(step)

    def general(self) -> DecomposedELBO:
        return BetaVAE(self.beta).general()
