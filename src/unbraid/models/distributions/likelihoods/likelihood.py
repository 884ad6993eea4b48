"""How probable an image is, given what the decoder says of it.

These are true log-likelihoods: sums over pixels and channels with every constant kept, so that an ELBO is an ELBO and a
beta is a beta.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.distributions.fixed import Fixed


class Likelihood(Config, ABC):
    """p(x | z), from the decoder's output: one number for each pixel and channel."""

    @property
    def of_intensities(self) -> bool:
        """Returns whether x must lie between 0 and 1, as the intensities of images do. By default it need not."""
        return False

    def make(self) -> nn.Module:
        """Returns a module without inputs whose output is the likelihood; its parameters, if any, are learned with the
        model's. By default it is this likelihood.
        """
        return Fixed(self)

    @abstractmethod
    def log_prob(
        self, x: Float[Tensor, "batch channel height width"], output: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, " batch"]:
        """Returns log p(x | z) of each image, summed over its pixels and channels, in nats."""

    @abstractmethod
    def mean(
        self, output: Float[Tensor, "*batch channel height width"]
    ) -> Float[Tensor, "*batch channel height width"]:
        """Returns E[x | z]: the image that a person is shown."""


@final
@dataclass(frozen=True)
class BernoulliLikelihood(Likelihood):
    """log p(x | z) = sum_p x_p l_p - softplus(l_p), with the decoder's output as logits l.

    On gray images, where x is between 0 and 1, this is minus the cross-entropy with x read as a probability: a common
    training loss, but not the density of anything.
    """

    @property
    def of_intensities(self) -> bool:
        return True

    def log_prob(
        self, x: Float[Tensor, "batch channel height width"], output: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, " batch"]:
        return (x * output - softplus(output)).sum(dim=(1, 2, 3))

    def mean(
        self, output: Float[Tensor, "*batch channel height width"]
    ) -> Float[Tensor, "*batch channel height width"]:
        return torch.sigmoid(output)


@final
@dataclass(frozen=True)
class GaussianLikelihood(Likelihood):
    """log p(x | z) = -sum_p [(x_p - m_p)^2 / (2 std^2) + log std + log(2 pi) / 2], with the decoder's output as the
    mean m, or with `sigmoid` the sigmoid of it.
    """

    std: float = 1.0
    """Standard deviation of every pixel."""
    sigmoid: bool = False
    """Whether the mean is the sigmoid of the decoder's output, and so lies between 0 and 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.std) and self.std > 0):
            raise SpecError(f"GaussianLikelihood: std is {self.std}; expected a positive, finite number such as 1.0.")

    @property
    def of_intensities(self) -> bool:
        return self.sigmoid

    def log_prob(
        self, x: Float[Tensor, "batch channel height width"], output: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, " batch"]:
        log_density = (
            -0.5 * ((x - self.mean(output)) / self.std).square() - math.log(self.std) - 0.5 * math.log(2 * math.pi)
        )
        return log_density.sum(dim=(1, 2, 3))

    def mean(
        self, output: Float[Tensor, "*batch channel height width"]
    ) -> Float[Tensor, "*batch channel height width"]:
        return torch.sigmoid(output) if self.sigmoid else output
