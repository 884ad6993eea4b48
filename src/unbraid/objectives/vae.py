"""Variational autoencoder."""

from dataclasses import dataclass

from unbraid.objectives.beta_vae import BetaVAE
from unbraid.objectives.decomposed_elbo import CaseOfDecomposedELBO, DecomposedELBO
from unbraid.objectives.weight_advice import PENALIZE_TC, WeightAdvice


@dataclass(frozen=True)
class VAE(CaseOfDecomposedELBO):
    """VAE loss, minus the ELBO: distortion + KL(q(z|x) || p(z)). Kingma & Welling, arXiv:1312.6114v10, eq. 10.

    Examples:
        >>> from unbraid import DSprites, RunSpec
        >>> RunSpec(DSprites(), objective=VAE()).num_steps
        10000
    """

    def weight_advice(self) -> WeightAdvice:
        below = "BetaVAE with a beta below 1, such as 0.25, or with a warm-up (beta=linear:0:1)"
        return WeightAdvice(below, "BetaVAE with a beta above 1, such as 4", PENALIZE_TC)

    def general_form(self) -> DecomposedELBO:
        return BetaVAE(1.0).general_form()
