"""Configs of priors of continuous latents, and the priors without learned parameters."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.codes import LatentPrior
from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Fixed, Posterior, Prior


class PriorConfig(Config, ABC):
    """A config for p(z) of continuous latents."""

    @abstractmethod
    def make(self, size: int) -> nn.Module:
        """Returns a module whose output is the `Prior` of `size` latents.

        Its parameters are learned with the model. Its input is the progress of training (default: the end).
        """

    @property
    def is_bounded(self) -> bool:
        """Whether the density is 0 somewhere, so that the KL from a Gaussian posterior is infinite."""
        return False


class FixedPrior(Prior, PriorConfig):
    """A prior without learned parameters, whose config is also the distribution."""

    def make(self, size: int) -> nn.Module:
        del size
        return Fixed(self)


@final
@dataclass(frozen=True)
class StandardNormalPrior(FixedPrior):
    """N(0, 1) for each latent. Nothing is learned."""

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return -0.5 * (z.square() + math.log(2 * math.pi))

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return noise

    def closed_form_kl_from(self, posterior: Posterior) -> Float[Tensor, "batch latent"] | None:
        return posterior.kl_to_standard_normal()

    def for_codes(self, num_latents: int) -> LatentPrior:
        return LatentPrior.standard(num_latents)


@final
@dataclass(frozen=True)
class UniformPrior(FixedPrior):
    """Uniform between `low` and `high`, as for the codes of a generator such as InfoGAN. Nothing is learned.

    The density is 0 outside this range, so the KL from a Gaussian posterior is infinite. Use this prior with objectives
    that draw codes from the prior, not with objectives that compare posteriors with it.
    """

    low: float = -1.0
    """Lower bound."""
    high: float = 1.0
    """Upper bound."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SpecError(f"UniformPrior: from {self.low} to {self.high}; expected finite numbers, the lower first.")

    @property
    def is_bounded(self) -> bool:
        return True

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        inside = (z >= self.low) & (z <= self.high)
        return torch.full_like(z, -math.log(self.high - self.low)).masked_fill(~inside, -math.inf)

    def sample(self, noise: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        return self.low + (self.high - self.low) * torch.special.ndtr(noise)

    def for_codes(self, num_latents: int) -> LatentPrior:
        middle, std = (self.low + self.high) / 2, (self.high - self.low) / math.sqrt(12)
        return LatentPrior.from_arrays([middle] * num_latents, [std] * num_latents, family="uniform")
