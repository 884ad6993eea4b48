"""Codes without noise."""

from dataclasses import dataclass, field
from typing import NoReturn, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.distributions.latents import Latents
from unbraid.distributions.posterior import Posterior
from unbraid.distributions.prior_recipes import PriorRecipe, StandardNormalPrior
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class Deterministic(Posterior):
    """q(z | x) has all its mass at `loc`: there is no density, and H(z | x) of a quantised code is 0."""

    loc: Float[Tensor, "batch latent"]

    @property
    def mean(self) -> Float[Tensor, "batch latent"]:
        return self.loc

    @property
    def std(self) -> Float[Tensor, "batch latent"]:
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
class DeterministicLatents(Latents):
    """Each image has one code, which the encoder puts out. For objectives that never ask for log q(z | x), such as
    AAE.
    """

    size: int = 10
    prior: PriorRecipe = field(default_factory=StandardNormalPrior)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SpecError(
                f"DeterministicLatents: size is {self.size}; a code needs at least 1 latent (the papers use 10)."
            )
        self.prior.check("DeterministicLatents", self.size)

    @property
    def num_latents(self) -> int:
        return self.size

    @property
    def num_parameters(self) -> int:
        return self.size

    @property
    def num_noise(self) -> int:
        return 0

    @property
    def has_density(self) -> bool:
        return False

    @property
    def prior_is_bounded(self) -> bool:
        return self.prior.is_bounded

    def posterior(self, parameters: Float[Tensor, "batch parameter"], progress: Float[Tensor, ""]) -> Deterministic:
        return Deterministic(parameters)

    def make_prior(self) -> nn.Module:
        return self.prior.make(self.size)


def _no_density() -> SpecError:
    return SpecError(
        "Deterministic latents have no density q(z | x), and one was asked for. Use GaussianLatents, or an objective "
        "that reads draws alone, such as AAE."
    )
