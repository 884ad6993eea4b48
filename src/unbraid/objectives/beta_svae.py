"""The beta-VAE with discrete and continuous latents."""

from dataclasses import dataclass

from unbraid.objectives.beta_vae import BetaVAE


@dataclass(frozen=True)
class BetaSVAE(BetaVAE):
    """distortion + beta (KL of the continuous latents + KL of the discrete latents).

    Esmaeili et al., arXiv:1804.02086v1, section 6. It is beta-VAE on a structured code: use `GroupedLatents`. A
    discrete latent counts by its probabilities, so its KL is sum_c q_c (log q_c - log p_c); with the measure "density"
    there is no closed form, and the loss takes log q(z|x) - log p(z) of the draw.
    """
