"""The continuous Bernoulli likelihood, for gray images."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.models.distributions.likelihoods.likelihood import Images, Likelihood

# Where |logit| / 2 is below this, series are used: the next term of each is below 1e-15 there.
_SMALL = 0.1


@final
@dataclass(frozen=True)
class ContinuousBernoulliLikelihood(Likelihood):
    """log p(x | z) = sum_p x_p l_p - log((exp(l_p) - 1) / l_p), with the decoder's output as logits l: a density on [0,
    1].

    Loaiza-Ganem & Cunningham, arXiv:1907.06845v5. Their p(x) = C(s) s^x (1 - s)^(1 - x), s = sigmoid(l), is
    proportional to exp(x l), and the integral of that over [0, 1] is (exp(l) - 1) / l: the same, without the
    singularity of their C(s) = 2 artanh(1 - 2 s) / (1 - 2 s) at 1/2.
    """

    @property
    def of_intensities(self) -> bool:
        return True

    def log_prob(self, x: Images, output: Images) -> Float[Tensor, " batch"]:
        # With h = l / 2, (exp(l) - 1) / l = exp(h) sinh(h) / h.
        half = 0.5 * output
        return ((2 * x - 1) * half - _log_sinhc(half)).sum(dim=(1, 2, 3))

    def mean(self, output: Images) -> Images:
        """Returns 1/2 + (coth(h) - 1 / h) / 2 with h = l / 2: the derivative of the log-normalizer. It is not the
        sigmoid of l.
        """
        return 0.5 + 0.5 * _langevin(0.5 * output)


def _log_sinhc(h: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns log(sinh(h) / h), which is even. Far from 0 it is |h| + log(1 - exp(-2 |h|)) - log(2 |h|), near 0 its
    series.
    """
    square = h.square()
    near = square * (1 / 6 - square * (1 / 180 - square * (1 / 2835 - square / 37800)))
    far = h.abs().clamp(min=_SMALL)
    return torch.where(h.abs() < _SMALL, near, far + torch.log(-torch.expm1(-2 * far)) - torch.log(2 * far))


def _langevin(h: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns coth(h) - 1 / h, which is odd; near 0 its series."""
    square = h.square()
    near = h * (1 / 3 - square * (1 / 45 - square * (2 / 945 - square / 4725)))
    far = torch.where(h.abs() < _SMALL, _SMALL, h)
    return torch.where(h.abs() < _SMALL, near, 1 / torch.tanh(far) - 1 / far)
