"""The variational autoencoder."""

from dataclasses import dataclass
from typing import final

from unbraid.objectives.beta_vae import BetaVAE
from unbraid.objectives.decomposed_elbo import DecomposedELBO
from unbraid.objectives.objective import Loss, Objective, Step


@final
@dataclass(frozen=True)
class VAE(Objective):
    """distortion + KL(q(z|x) || p(z)): minus the ELBO, with the KL in closed form. Kingma & Welling,
    arXiv:1312.6114v10, eq. 10.

    Examples:
        >>> from unbraid import DSprites, RunSpec
        >>> RunSpec(DSprites(), objective=VAE()).num_steps
        10000
    """

    def __call__(self, step: Step) -> Loss:
        return self.general()(step)

    def general(self) -> DecomposedELBO:
        return BetaVAE(1.0).general()
