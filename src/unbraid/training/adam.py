"""One Adam over a stack of members."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

_EPSILON = 1e-8  # as published: Kingma & Ba, arXiv:1412.6980v9, algorithm 1


@final
@dataclass(frozen=True)
class AdamMoments:
    """Running means of the gradient and of its square, one row a member."""

    first: Float[Tensor, "member parameter"]
    second: Float[Tensor, "member parameter"]


def adam_step_(
    weights: Float[Tensor, "member parameter"],
    gradient: Float[Tensor, "member parameter"],
    moments: AdamMoments,
    *,
    step: int,
    learning_rate: Float[Tensor, " member"],
    beta1: float,
    beta2: float,
) -> None:
    """Update weights and moments in place. `step` counts from 1. A member whose learning rate is 0 keeps its weights.

    Kingma & Ba, arXiv:1412.6980v9, algorithm 1.
    """
    moments.first.lerp_(gradient, 1 - beta1)
    moments.second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    scale = (moments.second / (1 - beta2**step)).sqrt_().add_(_EPSILON)
    weights.sub_(moments.first * (learning_rate / (1 - beta1**step))[:, None] / scale)


def clip_gradient(gradient: Float[Tensor, "member parameter"], max_norm: float) -> Float[Tensor, "member parameter"]:
    """Scale each member's gradient down to the norm `max_norm`, where it is longer."""
    norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
    return gradient * (max_norm / norm).clamp(max=1)
