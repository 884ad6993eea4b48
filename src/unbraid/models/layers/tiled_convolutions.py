"""Convolutions whose kernel positions do not overlap, computed as matrix products on a GPU.

The kernel positions are tiles of the map: one tile for a kernel of the size of the map, many for 2 x 2 kernels with
stride 2. Each tile is a row of numbers, and the rows times the matrix of kernels are the convolution. The transposed
matrix maps pixels to tiles. In a fleet the product is a fast batched product; torch would run a grouped convolution,
which is slow on GPUs.
"""

from typing import final

from jaxtyping import Float
from torch import Tensor, nn

from unbraid.models.layers import matrix_products
from unbraid.models.layers.matrix_products import kernel_matrix, plus, product


@final
class TiledConv2d(nn.Conv2d):
    """`nn.Conv2d` for kernels of the size of the map or of the stride, computed as a matrix product on a GPU.

    Parameters are the same as in `nn.Conv2d`, and results differ only by rounding.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: tuple[int, int], *, stride: int = 1, bias: bool = True
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride=stride, bias=bias)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (torch's name)
        is_tiled = self.kernel_size in (self.stride, tuple(input.shape[-2:]))
        if is_tiled and matrix_products.are_used_for(input):
            return shrunk(input, self.weight, self.bias)
        return super().forward(input)


@final
class TiledConvTranspose2d(nn.ConvTranspose2d):
    """`nn.ConvTranspose2d` from maps of one pixel to maps of the kernel size, computed as a matrix product on a GPU.

    Parameters are the same as in `nn.ConvTranspose2d`, and results differ only by rounding.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel_size: tuple[int, int], *, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size, bias=bias)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:  # noqa: A002 (torch's name)
        if output_size is None and input.shape[-2:] == (1, 1) and matrix_products.are_used_for(input):
            return grown(input, self.weight, self.bias)
        return super().forward(input, output_size)


def shrunk(
    x: Float[Tensor, "image in_channel height width"],
    weight: Float[Tensor, "out_channel in_channel kernel_height kernel_width"],
    bias: Float[Tensor, " out_channel"] | None = None,
) -> Float[Tensor, "image out_channel tile_row tile_column"]:
    """Returns `nn.functional.conv2d(x, weight, bias, stride=kernel_size)`, with channels last in memory.

    The height and width of `x` must be multiples of the height and width of the kernel.
    """
    height, width = weight.shape[2:]
    tiles = x.permute(0, 2, 3, 1).unflatten(2, (-1, width)).unflatten(1, (-1, height)).transpose(2, 3)
    return plus(product(tiles.flatten(3), kernel_matrix(weight)), bias).permute(0, 3, 1, 2)


def grown(
    x: Float[Tensor, "image in_channel row column"],
    weight: Float[Tensor, "in_channel out_channel kernel_height kernel_width"],
    bias: Float[Tensor, " out_channel"] | None = None,
) -> Float[Tensor, "image out_channel height width"]:
    """Returns `nn.functional.conv_transpose2d(x, weight, bias, stride=kernel_size)`, with channels last in memory."""
    height, width = weight.shape[2:]
    tiles = product(x.permute(0, 2, 3, 1), kernel_matrix(weight).mT).unflatten(3, (height, width, -1))
    return plus(tiles.transpose(2, 3).flatten(3, 4).flatten(1, 2), bias).permute(0, 3, 1, 2)
