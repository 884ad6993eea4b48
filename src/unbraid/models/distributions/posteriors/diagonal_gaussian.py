"""The factorized Gaussian posterior."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid.models.distributions.posteriors.gaussian_posterior import GaussianPosterior


@final
@dataclass(frozen=True)
class DiagonalGaussian(GaussianPosterior):
    """A posterior that is a product: q(z | x) = prod_j N(z_j; loc_j, exp(log_var_j))."""

    @property
    def density_correlation(self) -> None:
        return None

    def rsample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return self.loc + self.gaussian_std * noise

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"]:
        """Returns KL(q(z_j | x) || N(0, 1)), latent by latent, not summed: callers choose the axis."""
        return self.marginal_kl_to_standard_normal()
