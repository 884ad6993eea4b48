"""A uniform prior."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.codes import LatentPrior
from unbraid.errors import SpecError
from unbraid.models.distributions.fixed import Fixed
from unbraid.models.distributions.posteriors.posterior import Posterior
from unbraid.models.distributions.priors.prior import Prior
from unbraid.models.distributions.priors.prior_configs import PriorConfig


@final
@dataclass(frozen=True)
class Uniform(Prior):
    """A prior that is uniform: p(z) = prod_j 1 / (high - low) between low and high, and 0 beyond. Its entropy is
    log(high - low) for each latent.
    """

    low: float
    high: float

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        inside = (z >= self.low) & (z <= self.high)
        return torch.full_like(z, -math.log(self.high - self.low)).masked_fill(~inside, -math.inf)

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return self.low + (self.high - self.low) * torch.special.ndtr(noise)

    def closed_form_kl_from(self, posterior: Posterior) -> None:
        return None

    def for_codes(self, num_latents: int) -> LatentPrior:
        middle, std = (self.low + self.high) / 2, (self.high - self.low) / math.sqrt(12)
        return LatentPrior.from_arrays([middle] * num_latents, [std] * num_latents, family="uniform")


@final
@dataclass(frozen=True)
class UniformPrior(PriorConfig):
    """Uniform between `low` and `high`: what a generator such as InfoGAN draws its codes from. Nothing is learned.

    Its density is 0 beyond them, so the KL from a posterior that reaches further, as every Gaussian does, is infinite:
    it is for objectives that draw codes from the prior, not for those that compare posteriors with it.
    """

    low: float = -1.0
    """Least code."""
    high: float = 1.0
    """Greatest code."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SpecError(f"UniformPrior: from {self.low} to {self.high}; expected finite numbers, the lower first.")

    @property
    def is_bounded(self) -> bool:
        return True

    def make(self, size: int) -> nn.Module:
        del size
        return Fixed(Uniform(self.low, self.high))
