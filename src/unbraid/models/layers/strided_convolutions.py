"""Convolutions and transposed convolutions (4 x 4, stride 2, padding 1), computed as matrix products on a GPU.

Every member of a fleet has separate kernels. In torch this is one grouped convolution, which is slow on GPUs. A matrix
product becomes a fast batched product. Memory traffic then dominates, so all tensors have channels last.

The larger image has C channels. With a padding of 1 it consists of blocks of 2 x 2 pixels. A kernel covers 2 x 2 blocks
and moves by one block, so the smaller image with O channels is y[i, j] = Σ W[a, b] block[i + a, j + b] over a, b in
{0, 1}. There are two ways to compute this sum as one matrix product:

- by blocks: each block (4 C numbers) is multiplied by all four W[a, b], which writes 4 O numbers per block. A pixel of
  y is the sum of four of the results.
- by patches: the four blocks of each pixel of y are concatenated (16 C numbers) and multiplied by W. This needs less
  memory traffic if O is at least 3 C, as in the layers next to images.

The transposed convolution is the adjoint: from y to windows of 2 x 2 pixels and then to blocks, or from y to patches,
which are summed where they overlap.
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
    """`nn.Conv2d` with 4 x 4 kernels, stride 2 and padding 1, computed as matrix products on a GPU.

    Parameters are the same as in `nn.Conv2d`, and results differ only by rounding.
    """

    def __init__(self, in_channels: int, out_channels: int, *, bias: bool = True) -> None:
        super().__init__(in_channels, out_channels, kernel_size=4, stride=2, padding=1, bias=bias)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 (torch's name)
        return halved(input, self.weight, self.bias) if matrix_products.are_used_for(input) else super().forward(input)


@final
class ConvTranspose2d(nn.ConvTranspose2d):
    """`nn.ConvTranspose2d` with 4 x 4 kernels, stride 2 and padding 1, computed as matrix products on a GPU.

    Parameters are the same as in `nn.ConvTranspose2d`, and results differ only by rounding.
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
        # The bias is added to blocks, so that its gradient is a sum over blocks, which are in memory for the products.
        blocks = plus(product(rows, _block_matrix(weight).mT), None if bias is None else bias.repeat(4))
        maps = _linear(blocks, partial(_from_blocks, size=size), _blocks)
    return maps.to(x.dtype).permute(0, 3, 1, 2)


def _by_patches(weight: Tensor) -> bool:
    smaller, larger = weight.shape[:2]
    return smaller >= 3 * larger


def _block_matrix(weight: Float[Tensor, "smaller larger 4 4"]) -> Float[Tensor, "block_number window_number"]:
    """Reshapes a kernel to a matrix from blocks (pixel, channel) to windows (pixel, channel).

    Kernels are flipped, because W[0, 0] contributes to the last pixel of a window.
    """
    kernels = weight.unflatten(3, (2, 2)).unflatten(2, (2, 2)).flip((2, 4))
    return kernels.permute(3, 5, 1, 2, 4, 0).flatten(3).flatten(0, 2)


@final
class _Linear(torch.autograd.Function):
    """Autograd function that applies a linear map, and its adjoint to gradients.

    The gradient that autograd derives would sum many zero-padded images.
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
    """Returns the blocks of 2 x 2 pixels of the image with a padding of 1.

    If a side has an odd number of pixels, no kernel covers the padding at its end.
    """
    framed = pad(x, (0, 0, 1, 1 - x.shape[2] % 2, 1, 1 - x.shape[1] % 2))
    return framed.unflatten(2, (-1, 2)).unflatten(1, (-1, 2)).transpose(2, 3).flatten(3)


def _from_blocks(
    blocks: Float[Tensor, "image block_row block_column number"], size: tuple[int, int]
) -> Float[Tensor, "image height width channel"]:
    """Returns the image of the given size from its blocks, the adjoint and inverse of `_blocks`."""
    framed = blocks.unflatten(3, (2, 2, -1)).transpose(2, 3).flatten(3, 4).flatten(1, 2)
    return framed[:, 1 : 1 + size[0], 1 : 1 + size[1]]


def _windows(x: Float[Tensor, "image height width channel"]) -> Float[Tensor, "image window_row window_column number"]:
    """Returns all windows of 2 x 2 pixels of the image with a padding of 1."""
    return _unfolded(x, 2, 1)


def _from_windows(
    windows: Float[Tensor, "image window_row window_column number"],
) -> Float[Tensor, "image height width channel"]:
    """Sums the four windows of each pixel, the adjoint of `_windows`."""
    parts = widened(windows).unflatten(3, (2, 2, -1))
    parts = parts[:, 1:, :, 0] + parts[:, :-1, :, 1]
    return parts[:, :, 1:, 0] + parts[:, :, :-1, 1]


def _patches(x: Float[Tensor, "image height width channel"]) -> Float[Tensor, "image patch_row patch_column number"]:
    """Returns the 4 x 4 pixels under the kernel at each position."""
    return _unfolded(x, 4, 2)


def _from_patches(
    patches: Float[Tensor, "image patch_row patch_column number"], size: tuple[int, int]
) -> Float[Tensor, "image height width channel"]:
    """Sums the patches that cover each pixel, the adjoint of `_patches`."""
    parts = widened(patches).unflatten(3, (2, 2, 2, 2, -1))
    unpadded = (0, 0)
    parts = pad(parts[:, :, :, 0], (*unpadded * 5, 0, 1)) + pad(parts[:, :, :, 1], (*unpadded * 5, 1, 0))
    parts = pad(parts[:, :, :, :, 0], (*unpadded * 3, 0, 1)) + pad(parts[:, :, :, :, 1], (*unpadded * 3, 1, 0))
    return _from_blocks(parts.flatten(3), size)


def _copied(x: Float[Tensor, "image height width channel"]) -> Float[Tensor, "image height width channel"]:
    """Copies the pixels to a layout with channels last. The function is its own adjoint.

    Without the copy, torch.compile stores the image with channels first and transposes it before every product. Two
    flips are used because torch.compile removes `clone`.
    """
    return x.flip(1).flip(1)


def _unfolded(
    x: Float[Tensor, "image height width channel"], side: int, step: int
) -> Float[Tensor, "image row column number"]:
    """Returns the squares with the given side and step, in pixels, of the image with a padding of 1."""
    squares = pad(x, (0, 0, 1, 1, 1, 1)).unfold(1, side, step).unfold(2, side, step)
    return squares.permute(0, 1, 2, 4, 5, 3).flatten(3)
