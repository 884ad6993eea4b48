"""The Gaussian likelihood that learns how noisy pixels are."""

import copy
import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.errors import SpecError
from unbraid.models.distributions.likelihoods.likelihood import Images, Likelihood


@final
@dataclass(frozen=True)
class LearnedGaussianLikelihood(Likelihood):
    """log p(x | z) = -sum_p [(x_p - m_p)^2 / (2 s^2) + log s + log(2 pi) / 2], where one s for all pixels is learned,
    from `initial_std` on.

    At its best s^2 is the mean squared error, so the weight of the distortion against the rate is learned too: Rybkin
    et al., arXiv:2006.13202v3.
    """

    initial_std: float = 1.0
    """Standard deviation of every pixel from which learning starts."""
    # The learned logarithm of s, in the likelihood that the module puts out.
    _log_std: ClassVar[Tensor | None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.initial_std) and self.initial_std > 0):
            raise SpecError(
                f"LearnedGaussianLikelihood: initial_std is {self.initial_std}; expected a positive, finite number "
                "such as 1.0."
            )

    def make(self) -> nn.Module:
        return _LearnedStd(self)

    def with_log_std(self, log_std: Float[Tensor, ""]) -> "LearnedGaussianLikelihood":
        """Returns the likelihood with this logarithm of s."""
        bound = copy.copy(self)
        object.__setattr__(bound, "_log_std", log_std)
        return bound

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
        return self._likelihood.with_log_std(self.log_std)
