"""The Laplace likelihood."""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.models.distributions.likelihoods.likelihood import Likelihood


@final
@dataclass(frozen=True)
class LaplaceLikelihood(Likelihood):
    """log p(x | z) = -sum_p [|x_p - m_p| + log 2], with the decoder's output as the location m and a scale of 1: the L1
    loss with its constant. With `sigmoid`, m is the sigmoid of the output, as in Do & Tran's code for CelebA
    (arXiv:1908.09961v4).
    """

    sigmoid: bool = False
    """Whether the location is the sigmoid of the decoder's output, and so lies between 0 and 1."""

    @property
    def of_intensities(self) -> bool:
        return self.sigmoid

    def log_prob(
        self, x: Float[Tensor, "batch channel height width"], output: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, " batch"]:
        return -((x - self.mean(output)).abs() + math.log(2)).sum(dim=(1, 2, 3))

    def mean(
        self, output: Float[Tensor, "*batch channel height width"]
    ) -> Float[Tensor, "*batch channel height width"]:
        return torch.sigmoid(output) if self.sigmoid else output
