"""Likelihoods p(x | z) of images, given the output of the decoder.

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

Images = Float[Tensor, "*batch channel height width"]
"""Images, or the outputs of a decoder for them."""


class Likelihood(Config, ABC):
    """p(x | z), from the decoder's output: one number for each pixel and channel."""

    @property
    def of_intensities(self) -> bool:
        """Whether x must lie between 0 and 1, as the intensities of images do. By default it need not."""
        return False

    def make(self) -> nn.Module:
        """Returns a module without inputs whose output is the likelihood; its parameters are learned with the model's.

        By default it has none.
        """
        return Fixed(self)

    @abstractmethod
    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        """Returns log p(x | z) of each image, summed over its pixels and channels, in nats."""

    @abstractmethod
    def mean(self, output: Images) -> Images:
        """Returns E[x | z], the image to show."""


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

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        return (x * output - softplus(output)).sum(dim=(1, 2, 3))

    def mean(self, output: Images) -> Images:
        return torch.sigmoid(output)


class _LinkedLikelihood(Likelihood):
    """A likelihood around the decoder's output, or with `sigmoid` around the sigmoid of it."""

    sigmoid: bool

    @property
    def of_intensities(self) -> bool:
        return self.sigmoid

    def mean(self, output: Images) -> Images:
        return torch.sigmoid(output) if self.sigmoid else output


@final
@dataclass(frozen=True)
class GaussianLikelihood(_LinkedLikelihood):
    """log p(x | z) = -sum_p [(x_p - m_p)^2 / (2 std^2) + log std + log(2 pi) / 2].

    The mean m is the decoder's output, or with `sigmoid` the sigmoid of it.
    """

    std: float = 1.0
    """Standard deviation of every pixel."""
    sigmoid: bool = False
    """Whether the mean is the sigmoid of the decoder's output, and so lies between 0 and 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.std) and self.std > 0):
            raise SpecError(f"GaussianLikelihood: std is {self.std}; expected a positive, finite number such as 1.0.")

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        log_density = (
            -0.5 * ((x - self.mean(output)) / self.std).square() - math.log(self.std) - 0.5 * math.log(2 * math.pi)
        )
        return log_density.sum(dim=(1, 2, 3))


@final
@dataclass(frozen=True)
class LaplaceLikelihood(_LinkedLikelihood):
    """log p(x | z) = -sum_p [|x_p - m_p| + log 2]: the L1 loss with its constant; the scale is 1.

    The location m is the decoder's output, or with `sigmoid` the sigmoid of it, as in Do & Tran's code for CelebA
    (arXiv:1908.09961v4).
    """

    sigmoid: bool = False
    """Whether the location is the sigmoid of the decoder's output, and so lies between 0 and 1."""

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        return -((x - self.mean(output)).abs() + math.log(2)).sum(dim=(1, 2, 3))
