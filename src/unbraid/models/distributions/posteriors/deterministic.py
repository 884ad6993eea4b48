"""Codes without noise."""

from dataclasses import dataclass, field
from typing import ClassVar, NoReturn, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.models.distributions.posteriors.latents import ContinuousLatents
from unbraid.models.distributions.posteriors.posterior import Posterior
from unbraid.models.distributions.priors.prior_configs import PriorConfig, StandardNormalPrior


@final
@dataclass(frozen=True)
class Deterministic(Posterior):
    """A posterior that has all its mass at `loc`: there is no density, and H(z | x) of a quantized code is 0."""

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

    def log_prob(self, z: Float[Tensor, "batch latent"]) -> NoReturn:
        raise _no_density()

    def pairwise_log_prob(self, z: Float[Tensor, "sample latent"]) -> NoReturn:
        raise _no_density()


@final
@dataclass(frozen=True)
class DeterministicLatents(ContinuousLatents):
    """Each image has one code, which the encoder puts out. For objectives that never ask for log q(z | x), such as
    AAE.
    """

    size: int = 10
    """How many latents."""
    prior: PriorConfig = field(default_factory=StandardNormalPrior)
    """What the latents are distributed like before any image is seen."""

    numbers_per_latent: ClassVar[int] = 1

    @property
    def num_noise(self) -> int:
        return 0

    @property
    def has_density(self) -> bool:
        return False

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Deterministic:
        return Deterministic(parameters)


def _no_density() -> SpecError:
    return SpecError(
        "Deterministic latents have no density q(z | x), and one was asked for. Use GaussianLatents, or an objective "
        "that reads draws alone, such as AAE."
    )
