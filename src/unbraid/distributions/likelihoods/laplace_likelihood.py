"""The Laplace likelihood."""

import math
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from unbraid.distributions.likelihoods.likelihood import Likelihood


@final
@dataclass(frozen=True)
class LaplaceLikelihood(Likelihood):
    """log p(x | z) = -sum_p |x_p - m_p| + log 2, with the decoder's output as the location m and a scale of 1: the L1
    loss with its constant.
    """

    def log_prob(
        self, x: Float[Tensor, "batch channel height width"], output: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, " batch"]:
        return -((x - output).abs() + math.log(2)).sum(dim=(1, 2, 3))

    def mean(
        self, output: Float[Tensor, "*batch channel height width"]
    ) -> Float[Tensor, "*batch channel height width"]:
        return output
