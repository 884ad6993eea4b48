"""Laplace latents and the Laplace prior."""

import math
from dataclasses import dataclass, field
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid.codes import LatentPrior
from unbraid.models.distributions import noise as noises
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.posteriors.latents import ContinuousLatents
from unbraid.models.distributions.priors.prior import FixedPrior, PriorConfig

_LOG_2 = math.log(2)


@final
@dataclass(frozen=True)
class Laplace(Posterior):
    """Factorized Laplace posterior q(z | x) = prod_j exp(-|z_j - loc_j| / b_j) / (2 b_j), with b = exp(log_scale).

    The standard deviation is sqrt(2) b.
    """

    loc: Float[Tensor, "batch latent"]
    log_scale: Float[Tensor, "batch latent"]

    @property
    def mean(self) -> Float[Tensor, "batch latent"]:
        return self.loc

    @property
    def std(self) -> Float[Tensor, "batch latent"]:
        return math.sqrt(2) * self.log_scale.exp()

    def rsample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return self.loc + self.log_scale.exp() * noises.laplace(noise)

    def log_prob(self, z: Float[Tensor, "... latent"]) -> Float[Tensor, "... latent"]:
        return -(z - self.loc).abs() * (-self.log_scale).exp() - self.log_scale - _LOG_2

    def kl_to_standard_normal(self) -> Float[Tensor, "batch latent"]:
        """Returns the KL to N(0, 1), (m^2 + 2 b^2 + log(2 pi)) / 2 - log(2 b) - 1, per image and latent."""
        return (
            0.5 * (self.loc.square() + math.log(2 * math.pi)) + (2 * self.log_scale).exp() - self.log_scale - _LOG_2 - 1
        )


@final
@dataclass(frozen=True)
class LaplacePrior(FixedPrior):
    """Standard Laplace prior for each latent, p(z) = prod_j exp(-|z_j|) / 2, without learned parameters."""

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return -z.abs() - _LOG_2

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return noises.laplace(noise)

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        """Returns the KL from a Laplace posterior, |m| + b exp(-|m| / b) - log b - 1; None for other posteriors."""
        if not isinstance(posterior, Laplace):
            return None
        distance = posterior.loc.abs()
        return (
            distance + (posterior.log_scale - distance * (-posterior.log_scale).exp()).exp() - posterior.log_scale - 1
        )

    def for_codes(self, num_latents: int) -> LatentPrior:
        return LatentPrior.from_arrays([0.0] * num_latents, [math.sqrt(2)] * num_latents, family="laplace")


@final
@dataclass(frozen=True)
class LaplaceLatents(ContinuousLatents):
    """Independent Laplace latents. The encoder outputs all locations, then all log-scales."""

    size: int = 10
    """Number of latents."""
    prior: PriorConfig = field(default_factory=LaplacePrior)
    """Prior p(z)."""

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Laplace:
        loc, log_scale = parameters.chunk(2, dim=1)
        return Laplace(loc, log_scale)
