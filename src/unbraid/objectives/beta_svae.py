"""Beta-VAE with discrete and continuous latents."""

from dataclasses import dataclass

from unbraid.objectives.beta_vae import BetaVAE


@dataclass(frozen=True)
class BetaSVAE(BetaVAE):
    """Beta-SVAE loss: distortion + beta (KL of the continuous latents + KL of the discrete latents).

    Esmaeili et al., arXiv:1804.02086v1, section 6: the beta-VAE loss of a model with `GroupedLatents`. The KL of a
    discrete latent is sum_c q_c (log q_c - log p_c) over its categories. With the measure "density", this KL has no
    closed form and is estimated by log q(z|x) - log p(z) of the draw.
    """
