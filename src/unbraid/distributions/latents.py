"""Families of posteriors: how the numbers that an encoder puts out become q(z | x)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid.distributions.diagonal_gaussian import DiagonalGaussian
from unbraid.distributions.posterior import Posterior
from unbraid.errors import SpecError


class Latents(ABC):
    """A recipe for q(z | x): how many latents there are, and how many numbers describe them."""

    @property
    @abstractmethod
    def num_latents(self) -> int: ...

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """How many numbers the encoder puts out for each image."""

    @abstractmethod
    def posterior(self, parameters: Float[Tensor, "batch parameter"]) -> Posterior: ...


@final
@dataclass(frozen=True)
class GaussianLatents(Latents):
    """Independent Gaussian latents. The encoder puts out all means, then all log-variances."""

    size: int = 10

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SpecError(f"GaussianLatents: size is {self.size}; a code needs at least 1 latent (the papers use 10).")

    @property
    def num_latents(self) -> int:
        return self.size

    @property
    def num_parameters(self) -> int:
        return 2 * self.size

    def posterior(self, parameters: Float[Tensor, "batch parameter"]) -> DiagonalGaussian:
        loc, log_var = parameters.chunk(2, dim=1)
        return DiagonalGaussian(loc, log_var)
