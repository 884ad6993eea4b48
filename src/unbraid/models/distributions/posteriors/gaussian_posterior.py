"""Posteriors whose latents are Gaussian, each by itself."""

import math
from abc import abstractmethod
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from unbraid.models.distributions.posteriors.posterior import Posterior

_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class GaussianPosterior(Posterior):
    """A posterior with marginals q(z_j | x) = N(z_j; loc_j, exp(log_var_j)); a subclass says how the latents of an
    image hang together.

    It holds the log-variance, as the encoder gives it, so that no scale is ever rounded to zero.
    """

    loc: Float[Tensor, "batch latent"]
    log_var: Float[Tensor, "batch latent"]

    @property
    def mean(self) -> Float[Tensor, "batch latent"]:
        return self.loc

    @property
    def gaussian_std(self) -> Float[Tensor, "batch latent"]:
        return (0.5 * self.log_var).exp()

    @property
    @abstractmethod
    def density_correlation(self) -> Float[Tensor, "latent latent"] | None:
        """Returns the correlation matrix of the latents in log q(z | x); None for the identity."""

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return -0.5 * ((z - self.loc).square() * (-self.log_var).exp() + self.log_var) - _HALF_LOG_2PI

    def pairwise_log_prob(self, z: Float[Tensor, "sample latent"]) -> Float[Tensor, "sample batch latent"]:
        deviation = z[:, None, :] - self.loc[None, :, :]
        return -0.5 * (deviation.square() * (-self.log_var).exp() + self.log_var) - _HALF_LOG_2PI

    def marginal_kl_to_standard_normal(self) -> Float[Tensor, "batch latent"]:
        """Returns KL(N(m, s^2) || N(0, 1)) = (m^2 + s^2 - log s^2 - 1) / 2, per image and latent, in nats.

        Kingma & Welling, arXiv:1312.6114v10, appendix B. It is not summed: callers choose the axis.
        """
        return 0.5 * (self.loc.square() + self.log_var.exp() - self.log_var - 1)
