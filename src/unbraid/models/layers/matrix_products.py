"""Functions for convolutions that are computed as matrix products."""

from jaxtyping import Float
from torch import Tensor


def are_used_for(x: Tensor) -> bool:
    """Returns whether to compute convolutions of `x` as matrix products, which is slower on a CPU."""
    return x.device.type != "cpu"


def product(
    rows: Float[Tensor, "image height width number"], matrix: Float[Tensor, "number out"]
) -> Float[Tensor, "image height width out"]:
    """Multiplies each row, a vector of numbers, by the matrix."""
    return (rows.flatten(0, 2) @ matrix).unflatten(0, rows.shape[:3])


def plus(
    maps: Float[Tensor, "image height width number"], bias: Float[Tensor, " number"] | None
) -> Float[Tensor, "image height width number"]:
    """Adds the bias of each channel to the maps, if `bias` is not None."""
    return maps if bias is None else maps + bias


def kernel_matrix(
    weight: Float[Tensor, "smaller larger kernel_height kernel_width"],
) -> Float[Tensor, "covered smaller"]:
    """Reshapes a kernel to a matrix from (pixel, channel) of the larger map to channels of the smaller map."""
    return weight.permute(2, 3, 1, 0).flatten(0, 2)
