"""Likelihoods p(x | z) of images given the decoder's output.

Log-likelihoods are summed over pixels and channels and include all constants, so that ELBOs and values of beta are
comparable.
"""

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.distributions.distribution import Fixed

Images = Float[Tensor, "*batch channel height width"]
"""Images or outputs of a decoder."""

# Below this |logit| / 2, series are used. Their first omitted terms are below 1e-15.
_SERIES_BELOW = 0.1


class Likelihood(Config, ABC):
    """Base class of likelihoods p(x | z) with one decoder output for each pixel and channel."""

    @property
    def of_intensities(self) -> bool:
        """Whether x must be in [0, 1], the range of image intensities; by default False."""
        return False

    def make(self) -> nn.Module:
        """Returns a module without inputs that outputs the likelihood.

        The parameters of the module are trained with the model. By default there are no parameters.
        """
        return Fixed(self)

    @abstractmethod
    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        """Returns log p(x | z) of each image, summed over its pixels and channels, in nats."""

    @abstractmethod
    def mean(self, output: Images) -> Images:
        """Returns the decoded image E[x | z]."""


@final
@dataclass(frozen=True)
class BernoulliLikelihood(Likelihood):
    """Bernoulli likelihood of each pixel: log p(x | z) = sum_p x_p l_p - softplus(l_p), with logits l.

    For gray images, with x between 0 and 1, the value is minus the cross-entropy. This common training loss is not a
    log-density.
    """

    @property
    def of_intensities(self) -> bool:
        return True

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        return (x * output - softplus(output)).sum(dim=(1, 2, 3))

    def mean(self, output: Images) -> Images:
        return torch.sigmoid(output)


class _LinkedLikelihood(Likelihood):
    """Base class of likelihoods whose location is the decoder's output or, with `sigmoid`, its sigmoid."""

    sigmoid: bool

    @property
    def of_intensities(self) -> bool:
        return self.sigmoid

    def mean(self, output: Images) -> Images:
        return torch.sigmoid(output) if self.sigmoid else output


@final
@dataclass(frozen=True)
class GaussianLikelihood(_LinkedLikelihood):
    """Gaussian likelihood: log p(x | z) = -sum_p [(x_p - m_p)^2 / (2 std^2) + log std + log(2 pi) / 2].

    The mean m is the decoder's output or, with `sigmoid`, its sigmoid.
    """

    std: float = 1.0
    """Standard deviation of every pixel."""
    sigmoid: bool = False
    """Whether the mean is the sigmoid of the decoder's output, in (0, 1)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.std) and self.std > 0):
            raise SpecError(f"GaussianLikelihood: std is {self.std}; expected a finite number > 0. Pass e.g. std=1.0.")

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        log_density = (
            -0.5 * ((x - self.mean(output)) / self.std).square() - math.log(self.std) - 0.5 * math.log(2 * math.pi)
        )
        return log_density.sum(dim=(1, 2, 3))


@final
@dataclass(frozen=True)
class LaplaceLikelihood(_LinkedLikelihood):
    """Laplace likelihood with scale 1, an L1 loss: log p(x | z) = -sum_p [|x_p - m_p| + log 2].

    The location m is the decoder's output or, with `sigmoid`, its sigmoid, as in Do & Tran's code for CelebA
    (arXiv:1908.09961v4).
    """

    sigmoid: bool = False
    """Whether the location is the sigmoid of the decoder's output, in (0, 1)."""

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        return -((x - self.mean(output)).abs() + math.log(2)).sum(dim=(1, 2, 3))


@final
@dataclass(frozen=True)
class LearnedGaussianLikelihood(Likelihood):
    """Gaussian likelihood with one learned standard deviation s for all pixels.

    log p(x | z) = -sum_p [(x_p - m_p)^2 / (2 s^2) + log s + log(2 pi) / 2], where m is the decoder's output. The
    optimal s^2 is the mean squared error, so the relative weight of distortion and rate is learned (Rybkin et al.,
    arXiv:2006.13202v3).
    """

    initial_std: float = 1.0
    """Initial standard deviation of every pixel."""
    # The learned log s, set by the module.
    _log_std: ClassVar[Tensor | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.initial_std) and self.initial_std > 0):
            raise SpecError(
                f"LearnedGaussianLikelihood: initial_std is {self.initial_std}; expected a finite number > 0. Pass "
                "e.g. initial_std=1.0."
            )

    def make(self) -> nn.Module:
        return _LearnedStd(self)

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        log_std = x.new_full((), math.log(self.initial_std)) if self._log_std is None else self._log_std
        log_density = -0.5 * ((x - output) * (-log_std).exp()).square() - log_std - 0.5 * math.log(2 * math.pi)
        return log_density.sum(dim=(1, 2, 3))

    def mean(self, output: Images) -> Images:
        return output


@final
class _LearnedStd(nn.Module):
    def __init__(self, likelihood: LearnedGaussianLikelihood) -> None:
        super().__init__()
        self._likelihood = likelihood
        self.log_std = nn.Parameter(torch.tensor(math.log(likelihood.initial_std)))

    def forward(self) -> LearnedGaussianLikelihood:
        likelihood = copy.copy(self._likelihood)
        object.__setattr__(likelihood, "_log_std", self.log_std)
        return likelihood


@final
@dataclass(frozen=True)
class ContinuousBernoulliLikelihood(Likelihood):
    """Continuous Bernoulli likelihood, a density on [0, 1] for gray images.

    log p(x | z) = sum_p x_p l_p - log((exp(l_p) - 1) / l_p), with logits l. Loaiza-Ganem & Cunningham,
    arXiv:1907.06845v5. Their p(x) = C(s) s^x (1 - s)^(1 - x) with s = sigmoid(l) is proportional to exp(x l). The
    integral of exp(x l) over [0, 1] is (exp(l) - 1) / l. This form avoids the singularity of C(s) at s = 1/2.
    """

    @property
    def of_intensities(self) -> bool:
        return True

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        # With h = l / 2, (exp(l) - 1) / l = exp(h) sinh(h) / h.
        half = 0.5 * output
        return ((2 * x - 1) * half - _log_sinhc(half)).sum(dim=(1, 2, 3))

    def mean(self, output: Images) -> Images:
        """Returns the derivative of the log-normalizer, 1/2 + (coth(h) - 1 / h) / 2 with h = l / 2."""
        return 0.5 + 0.5 * _langevin(0.5 * output)


def _log_sinhc(h: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns log(sinh(h) / h) = |h| + log(1 - exp(-2 |h|)) - log(2 |h|), by a series near 0."""
    square = h.square()
    near = square * (1 / 6 - square * (1 / 180 - square * (1 / 2835 - square / 37800)))
    far = h.abs().clamp(min=_SERIES_BELOW)
    return torch.where(h.abs() < _SERIES_BELOW, near, far + torch.log(-torch.expm1(-2 * far)) - torch.log(2 * far))


def _langevin(h: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns coth(h) - 1 / h, by a series near 0."""
    square = h.square()
    near = h * (1 / 3 - square * (1 / 45 - square * (2 / 945 - square / 4725)))
    far = torch.where(h.abs() < _SERIES_BELOW, _SERIES_BELOW, h)
    return torch.where(h.abs() < _SERIES_BELOW, near, 1 / torch.tanh(far) - 1 / far)
