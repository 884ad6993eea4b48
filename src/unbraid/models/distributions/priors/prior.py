"""Priors of continuous latents: base classes, and priors without learned parameters."""

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
    """Base class of configs of p(z) for continuous latents."""

    @abstractmethod
    def make(self, size: int) -> nn.Module:
        """Returns a module that outputs the `Prior` of `size` latents.

        The parameters of the module are trained with the model. Its input is the progress of training, by default 1.
        """

    @property
    def is_bounded(self) -> bool:
        """Whether the support is bounded, so that the KL from a Gaussian posterior is infinite."""
        return False


class FixedPrior(Prior, PriorConfig):
    """Base class of priors without learned parameters. The config is also the distribution."""

    def make(self, size: int) -> nn.Module:
        del size
        return Fixed(self)


@final
@dataclass(frozen=True)
class StandardNormalPrior(FixedPrior):
    """Standard normal prior N(0, 1) for each latent, without learned parameters."""

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
    """Uniform prior between `low` and `high` for each latent, without learned parameters.

    The KL from a Gaussian posterior is infinite, because the density is 0 outside the bounds. Use this prior with
    objectives that only draw codes from the prior, such as InfoGAN.
    """

    low: float = -1.0
    """Lower bound."""
    high: float = 1.0
    """Upper bound."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise SpecError(
                f"UniformPrior: low is {self.low} and high is {self.high}; expected finite numbers with low < high. "
                "Pass e.g. low=-1.0, high=1.0."
            )

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
