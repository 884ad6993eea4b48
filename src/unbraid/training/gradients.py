"""The gradients of a fleet: how long they are, and what makes them shorter."""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.precision import widened


def gradient_norm(gradient: Mapping[str, Float[Tensor, "member ..."]]) -> Float[Tensor, " member"]:
    """Returns the length of each member's gradient, all its tensors taken together."""
    lengths = [torch.linalg.vector_norm(widened(each).reshape(len(each), -1), dim=1) for each in gradient.values()]
    return torch.linalg.vector_norm(torch.stack(lengths), dim=0)


def clipping(norm: Float[Tensor, " member"], max_norm: float) -> Float[Tensor, " member"]:
    """Returns what to multiply each member's gradient by, so that it is no longer than `max_norm`."""
    return (max_norm / norm).clamp(max=1)
