"""Convolutions that halve an image, and transposed ones that double it, as products of matrices on a GPU.

Kernels are 4 x 4, with stride 2 and padding 1.

In a fleet every member has its own kernels. In torch that is one convolution of many groups, which is slow on GPUs; a
matrix product becomes a batch of products, which is fast. The remaining cost is memory traffic, so all tensors here
have channels last and nothing is written twice.

With a margin of 1, the larger image, of C channels, falls into blocks of 2 x 2 pixels. A kernel covers 2 x 2 blocks and
moves by one block, so the smaller image, of O channels, is y[i, j] = Σ W[a, b] block[i + a, j + b] over a, b in {0, 1}.
There are two ways to compute this as one product:

- by blocks: each of (4 C numbers) times all four W[a, b]; a pixel of y is the sum of four results (4 O numbers a block
  are written);
- by patches: the four blocks of each pixel of y, side by side (16 C numbers), times all of W. This has less
  traffic if O is at least 3 C, as in the layers next to images.

The transposed convolution is the adjoint of either: from y to windows of 2 x 2 pixels to blocks, or from y to patches
that are added up where they overlap.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import pad

from unbraid._internal.precision import widened
from unbraid.models.layers import matrix_products
from unbraid.models.layers.matrix_products import kernel_matrix, plus, product


@final
class Conv2d(nn.Conv2d):
    """Torch's layer of this name for kernels of 4 x 4, stride 2 and padding 1.

    Weights are the same, and results differ only by rounding. The layer is fast in fleets on a GPU.
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size=4, stride=2, padding=1, bias=bias)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (torch's name)
        return halved(input, self.weight, self.bias) if matrix_products.are_used_for(input) else super().forward(input)


@final
class ConvTranspose2d(nn.ConvTranspose2d):
    """Torch's layer of this name for kernels of 4 x 4, stride 2 and padding 1.

    Weights are the same, and results differ only by rounding. The layer is fast in fleets on a GPU.
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size=4, stride=2, padding=1, bias=bias)

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:  # noqa: A002 (torch's name)
        if output_size is None and matrix_products.are_used_for(input):
            return doubled(input, self.weight, self.bias)
        return super().forward(input, output_size)


def halved(
    x: Float[Tensor, "image in_channel height width"],
    weight: Float[Tensor, "out_channel in_channel 4 4"],
    bias: Float[Tensor, " out_channel"] | None = None,
) -> Float[Tensor, "image out_channel half_height half_width"]:
    """Returns `nn.functional.conv2d(x, weight, bias, stride=2, padding=1)`, with channels last in memory."""
    pixels = x.permute(0, 2, 3, 1)
    size = (x.shape[2], x.shape[3])
    if _by_patches(weight):
        rows = _linear(pixels, _patches, partial(_from_patches, size=size))
        maps = _linear(plus(product(rows, kernel_matrix(weight)), bias), _copied, _copied)
    else:
        rows = _linear(pixels, _blocks, partial(_from_blocks, size=size))
        maps = plus(_linear(product(rows, _block_matrix(weight)), _from_windows, _windows), bias)
    return maps.to(x.dtype).permute(0, 3, 1, 2)


def doubled(
    x: Float[Tensor, "image in_channel height width"],
    weight: Float[Tensor, "in_channel out_channel 4 4"],
    bias: Float[Tensor, " out_channel"] | None = None,
) -> Float[Tensor, "image out_channel double_height double_width"]:
    """Returns `nn.functional.conv_transpose2d(x, weight, bias, stride=2, padding=1)`, with channels last in memory."""
    pixels = x.permute(0, 2, 3, 1)
    size = (2 * x.shape[2], 2 * x.shape[3])
    if _by_patches(weight):
        rows = _linear(pixels, _copied, _copied)
        maps = plus(_linear(product(rows, kernel_matrix(weight).mT), partial(_from_patches, size=size), _patches), bias)
    else:
        rows = _linear(pixels, _windows, _from_windows)
        # Before the blocks are taken apart: the gradient of the bias then sums blocks, which are written anyway for the
        # products.
        blocks = plus(product(rows, _block_matrix(weight).mT), None if bias is None else bias.repeat(4))
        maps = _linear(blocks, partial(_from_blocks, size=size), _blocks)
    return maps.to(x.dtype).permute(0, 3, 1, 2)


def _by_patches(weight: Tensor) -> bool:
    smaller, larger = weight.shape[:2]
    return smaller >= 3 * larger


def _block_matrix(weight: Float[Tensor, "smaller larger 4 4"]) -> Float[Tensor, "block_number window_number"]:
    """Returns the matrix from a block (pixel of the block, channel) to windows (pixel of the window, channel).

    W[0, 0] meets the last pixel of a window, hence the flip.
    """
    kernels = weight.unflatten(3, (2, 2)).unflatten(2, (2, 2)).flip((2, 4))
    return kernels.permute(3, 5, 1, 2, 4, 0).flatten(3).flatten(0, 2)


@final
class _Linear(torch.autograd.Function):
    """Applies a linear map, with its adjoint for gradients.

    The gradient that autograd derives would add up many images of zeros.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, apply: Callable[[Tensor], Tensor], adjoint: Callable[[Tensor], Tensor]) -> Tensor:
        return apply(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, ctx.apply_, ctx.adjoint = inputs
        ctx.dtype = x.dtype

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _linear(gradient.to(ctx.dtype), ctx.adjoint, ctx.apply_).to(ctx.dtype), None, None


def _linear(x: Tensor, apply: Callable[[Tensor], Tensor], adjoint: Callable[[Tensor], Tensor]) -> Tensor:
    """Returns `apply(x)`, with gradients computed by `adjoint`."""
    result: Tensor = _Linear.apply(x, apply, adjoint)
    return result


# ---- from images to rows of a matrix and back


def _blocks(x: Float[Tensor, "image height width channel"]) -> Float[Tensor, "image block_row block_column number"]:
    """Returns blocks of 2 x 2 pixels of the image with a margin of 1.

    With an odd number of pixels, no kernel covers the margin below or to the right.
    """
    framed = pad(x, (0, 0, 1, 1 - x.shape[2] % 2, 1, 1 - x.shape[1] % 2))
    return framed.unflatten(2, (-1, 2)).unflatten(1, (-1, 2)).transpose(2, 3).flatten(3)


def _from_blocks(
    blocks: Float[Tensor, "image block_row block_column number"], size: tuple[int, int]
) -> Float[Tensor, "image height width channel"]:
    """Returns the image of this size from its blocks: the adjoint and inverse of `_blocks`."""
    framed = blocks.unflatten(3, (2, 2, -1)).transpose(2, 3).flatten(3, 4).flatten(1, 2)
    return framed[:, 1 : 1 + size[0], 1 : 1 + size[1]]


def _windows(x: Float[Tensor, "image height width channel"]) -> Float[Tensor, "image window_row window_column number"]:
    """Returns all windows of 2 x 2 pixels of the image with a margin of 1."""
    return _unfolded(x, 2, 1)


def _from_windows(
    windows: Float[Tensor, "image window_row window_column number"],
) -> Float[Tensor, "image height width channel"]:
    """Returns the adjoint of `_windows`: the sum over the four windows of each pixel."""
    parts = widened(windows).unflatten(3, (2, 2, -1))
    parts = parts[:, 1:, :, 0] + parts[:, :-1, :, 1]
    return parts[:, :, 1:, 0] + parts[:, :, :-1, 1]


def _patches(x: Float[Tensor, "image height width channel"]) -> Float[Tensor, "image patch_row patch_column number"]:
    """Returns the 4 x 4 pixels under the kernel at each position."""
    return _unfolded(x, 4, 2)


def _from_patches(
    patches: Float[Tensor, "image patch_row patch_column number"], size: tuple[int, int]
) -> Float[Tensor, "image height width channel"]:
    """Returns the adjoint of `_patches`: the sum over the patches that cover each pixel."""
    parts = widened(patches).unflatten(3, (2, 2, 2, 2, -1))
    unpadded = (0, 0)
    parts = pad(parts[:, :, :, 0], (*unpadded * 5, 0, 1)) + pad(parts[:, :, :, 1], (*unpadded * 5, 1, 0))
    parts = pad(parts[:, :, :, :, 0], (*unpadded * 3, 0, 1)) + pad(parts[:, :, :, :, 1], (*unpadded * 3, 1, 0))
    return _from_blocks(parts.flatten(3), size)


def _copied(x: Float[Tensor, "image height width channel"]) -> Float[Tensor, "image height width channel"]:
    """Copies the pixels to a layout with channels last; the adjoint is the same.

    Otherwise torch.compile stores the image with channels first and transposes it before every product. It removes a
    plain clone.
    """
    return x.flip(1).flip(1)


def _unfolded(
    x: Float[Tensor, "image height width channel"], side: int, step: int
) -> Float[Tensor, "image row column number"]:
    """Returns squares with this side and step, in pixels, of the image with a margin of 1."""
    squares = pad(x, (0, 0, 1, 1, 1, 1)).unfold(1, side, step).unfold(2, side, step)
    return squares.permute(0, 1, 2, 4, 5, 3).flatten(3)
