"""Elementwise transforms of standard normal numbers to other distributions.

The transforms are accurate in both tails, because no probability is rounded to 0 or 1.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def gumbel(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns standard Gumbel noise, -log(-log Phi(n))."""
    return -(-log_ndtr(normal)).log()


def logistic(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns standard logistic noise, log Phi(n) - log Phi(-n)."""
    return log_ndtr(normal) - log_ndtr(-normal)


def laplace(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns standard Laplace noise, the odd function with the values log(2 Phi(n)) for n < 0."""
    return -torch.sign(normal) * (math.log(2) + log_ndtr(-normal.abs()))


def log_ndtr(normal: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns log Phi(n), like `torch.special.log_ndtr`, which does not support vmap."""
    scaled = normal * math.sqrt(0.5)
    below = torch.log(0.5 * torch.special.erfcx(scaled.clamp(max=0).neg())) - scaled.square()
    return torch.where(normal < 0, below, torch.log1p(-0.5 * torch.special.erfc(scaled)))
