"""Deterministic codes."""

from dataclasses import dataclass, field
from typing import ClassVar, NoReturn, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Posterior
from unbraid.models.distributions.posteriors.latents import ContinuousLatents
from unbraid.models.distributions.priors.prior import PriorConfig, StandardNormalPrior


@final
@dataclass(frozen=True)
class Deterministic(Posterior):
    """Posterior with all mass at `loc` and therefore no density."""

    loc: Float[Tensor, "batch latent"]

    @property
    def mean(self) -> Float[Tensor, "batch latent"]:
        return self.loc

    @property
    def gaussian_std(self) -> Float[Tensor, "batch latent"]:
        return torch.zeros_like(self.loc)

    def rsample(self, noise: Float[Tensor, "batch noise"]) -> Float[Tensor, "batch latent"]:
        del noise
        return self.loc

    def log_prob(self, z: Float[Tensor, "... latent"]) -> NoReturn:
        raise SpecError(
            "The latents are deterministic; expected latents with a density q(z | x) for this loss. Use "
            "GaussianLatents, or an objective without densities, such as AAE."
        )


@final
@dataclass(frozen=True)
class DeterministicLatents(ContinuousLatents):
    """Deterministic codes, equal to the output of the encoder, for objectives without log q(z | x), such as AAE."""

    size: int = 10
    """Number of latents."""
    prior: PriorConfig = field(default_factory=StandardNormalPrior)
    """Prior p(z)."""

    numbers_per_latent: ClassVar[int] = 1

    @property
    def num_noise(self) -> int:
        return 0

    @property
    def has_density(self) -> bool:
        return False

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Deterministic:
        return Deterministic(parameters)
