"""One Adam over a stack of members."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

_EPSILON = 1e-8  # as published: Kingma & Ba, arXiv:1412.6980v9, algorithm 1


@final
@dataclass(frozen=True)
class AdamMoments:
    """Running means of the gradient and of its square, one row a member."""

    first: Float[Tensor, "member ..."]
    second: Float[Tensor, "member ..."]


def adam_step_(
    weights: Float[Tensor, "member ..."],
    gradient: Float[Tensor, "member ..."],
    moments: AdamMoments,
    *,
    correction: Float[Tensor, "2"],
    learning_rate: Float[Tensor, " member"],
    alive: Bool[Tensor, " member"],
    beta1: float,
    beta2: float,
) -> None:
    """Update weights and moments in place. `correction` is that of this step. A member that is not alive keeps its
    moments, whatever its gradient, and at the learning rate 0 its weights too.

    Kingma & Ba, arXiv:1412.6980v9, algorithm 1.
    """
    unbiased1, unbiased2 = correction.unbind()
    gradient = torch.where(over_members(alive, gradient), gradient, 0)
    share = torch.zeros_like(learning_rate).masked_fill(alive, 1 - beta1)
    decay = torch.ones_like(learning_rate).masked_fill(alive, beta2)
    moments.first.lerp_(gradient, over_members(share, gradient))
    moments.second.mul_(over_members(decay, gradient)).addcmul_(gradient, gradient, value=1 - beta2)
    scale = (moments.second / unbiased2).sqrt_().add_(_EPSILON)
    weights.sub_((moments.first * over_members(learning_rate / unbiased1, weights)).div_(scale))


def bias_correction(step: Int64[Tensor, ""], beta1: float, beta2: float) -> Float64[Tensor, "2"]:
    """1 - beta^t: how much of each moment the gradients so far make up, the rest being the zero that it began with.
    `step` counts from 1.
    """
    # float64: a float32 would round 0.999 to the power of the step.
    return torch.stack([1 - beta ** step.double() for beta in (beta1, beta2)])


def gradient_norm(gradient: Mapping[str, Float[Tensor, "member ..."]]) -> Float[Tensor, " member"]:
    """The length of each member's gradient, all its tensors taken together."""
    wide = [each.float() if each.dtype.itemsize < 4 else each for each in gradient.values()]
    lengths = [torch.linalg.vector_norm(each.reshape(len(each), -1), dim=1) for each in wide]
    return torch.linalg.vector_norm(torch.stack(lengths), dim=0)


def clipping(norm: Float[Tensor, " member"], max_norm: float) -> Float[Tensor, " member"]:
    """What to multiply each member's gradient by, to bring it down to the norm `max_norm` where it is longer."""
    return (max_norm / norm).clamp(max=1)


def over_members(values: Tensor, like: Tensor) -> Tensor:
    """One value a member, in a shape that broadcasts over the members of `like`."""
    return values.reshape(-1, *[1] * (like.ndim - 1))
