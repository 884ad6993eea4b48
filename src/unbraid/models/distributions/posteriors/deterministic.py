"""Codes without noise."""

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
    """A posterior with all its mass at `loc`. It has no density, and H(z | x) of a quantized code is 0."""

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
            "Deterministic latents have no density q(z | x), and the loss needs one. Use GaussianLatents, or an "
            "objective that reads draws only, such as AAE."
        )


@final
@dataclass(frozen=True)
class DeterministicLatents(ContinuousLatents):
    """Codes equal to the output of the encoder, for objectives that need no log q(z | x), such as AAE."""

    size: int = 10
    """Number of latents."""
    prior: PriorConfig = field(default_factory=StandardNormalPrior)
    """The prior p(z)."""

    numbers_per_latent: ClassVar[int] = 1

    @property
    def num_noise(self) -> int:
        return 0

    @property
    def has_density(self) -> bool:
        return False

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Deterministic:
        return Deterministic(parameters)
