"""Transforms of standard normal numbers to other distributions, one for one.

They are exact in both tails, because no probability is ever rounded to 0 or 1.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def gumbel(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns standard Gumbel noise: -log(-log Phi(n))."""
    return -(-log_ndtr(normal)).log()


def logistic(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns standard logistic noise: log Phi(n) - log Phi(-n)."""
    return log_ndtr(normal) - log_ndtr(-normal)


def laplace(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns standard Laplace noise: log(2 Phi(n)) where n is negative, and the mirror image of that."""
    return -torch.sign(normal) * (math.log(2) + log_ndtr(-normal.abs()))


def log_ndtr(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns log Phi(n). torch.special has it too, but not for vmap."""
    scaled = normal * math.sqrt(0.5)
    below = torch.log(0.5 * torch.special.erfcx(scaled.clamp(max=0).neg())) - scaled.square()
    return torch.where(normal < 0, below, torch.log1p(-0.5 * torch.special.erfc(scaled)))
