"""Shared functions of convolutions computed as matrix products."""

from jaxtyping import Float
from torch import Tensor


def are_used_for(x: Tensor) -> bool:
    """Returns whether to use matrix products. On a CPU the convolutions of torch are faster."""
    return x.device.type != "cpu"


def product(
    rows: Float[Tensor, "image height width number"], matrix: Float[Tensor, "number out"]
) -> Float[Tensor, "image height width out"]:
    """Returns `rows` times the matrix."""
    return (rows.flatten(0, 2) @ matrix).unflatten(0, rows.shape[:3])


def plus(
    maps: Float[Tensor, "image height width number"], bias: Float[Tensor, " number"] | None
) -> Float[Tensor, "image height width number"]:
    """Returns the maps with the bias of each channel added, if there is one."""
    return maps if bias is None else maps + bias


def kernel_matrix(
    weight: Float[Tensor, "smaller larger kernel_height kernel_width"],
) -> Float[Tensor, "covered smaller"]:
    """Returns the matrix from the inputs of a kernel (pixel, channel of the larger map) to a pixel of the smaller."""
    return weight.permute(2, 3, 1, 0).flatten(0, 2)
