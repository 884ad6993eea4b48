"""What a code looks like before any image is seen."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid.distributions.diagonal_gaussian import DiagonalGaussian
from unbraid.distributions.posterior import Posterior
from unbraid.errors import SpecError


class Prior(ABC):
    """p(z), with latents independent of each other unless a subclass says otherwise."""

    @abstractmethod
    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        """log p(z_j), in nats. Not summed: callers choose the axis."""

    @abstractmethod
    def kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"]:
        """KL(q(z_j | x) || p(z_j)) in closed form, per image and latent, in nats."""


@final
@dataclass(frozen=True)
class StandardNormal(Prior):
    """p(z) = prod_j N(z_j; 0, 1)."""

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return -0.5 * (z.square() + math.log(2 * math.pi))

    def kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"]:
        match posterior:
            case DiagonalGaussian():
                return posterior.kl_to_standard_normal()
            case _:
                raise SpecError(
                    f"There is no closed-form KL from {type(posterior).__name__} to the standard normal, which every objective logs as the "
                    "rate. Add its formula to StandardNormal.kl_from, or use Gaussian latents."
                )
