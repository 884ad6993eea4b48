"""Base class of convolutional nets, and stacks of convolutions that halve or double the size of maps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from torch import nn

from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape, SizedNet
from unbraid.models.layers.strided_convolutions import Conv2d, ConvTranspose2d
from unbraid.models.layers.tiled_convolutions import TiledConv2d, TiledConvTranspose2d

LEAST, MOST = 16, 256
"""Limits of the height and width of an image, in pixels."""
_LAYERS_FOR = 64  # image size of the published nets, in pixels
_UNIT = 16  # sides of the canvas are multiples of this or a larger power of 2


@final
@dataclass(frozen=True)
class Canvas:
    """Zero-padded image size, divisible by the strides of the convolutions, and the `widths` of the convolutions."""

    image_shape: ImageShape
    size: tuple[int, int]
    widths: tuple[int, ...]

    @classmethod
    def from_channels(cls, net: str, image_shape: ImageShape, channels: Sequence[int]) -> "Canvas":
        """Returns the canvas for an image shape and the channels of the convolutions.

        Images of up to 64 pixels have one convolution per entry of `channels`. The last entry is used for one more
        convolution above 64 pixels, and for two more above 128 pixels. `net` is the name of the net in error messages.
        """
        check_size(net, image_shape)
        longest = max(image_shape[1:])
        num_more = sum(longest > _LAYERS_FOR * 2**more for more in range(2))
        widths = (*channels, *[channels[-1]] * num_more)
        unit = max(_UNIT, 2 ** len(widths))
        height, width = (-(-side // unit) * unit for side in image_shape[1:])
        return cls(image_shape, (height, width), widths)

    @classmethod
    def square(cls, net: str, image_shape: ImageShape) -> "Canvas":
        """Returns the smallest square canvas whose side is a power of 2, without convolutions."""
        check_size(net, image_shape)
        side = 1 << (max(image_shape[1:]) - 1).bit_length()
        return cls(image_shape, (side, side), ())

    @property
    def num_channels(self) -> int:
        return self.image_shape[0]

    @property
    def map_shape(self) -> tuple[int, int]:
        """Height and width of the last map of the encoder."""
        height, width = self.size
        return height >> len(self.widths), width >> len(self.widths)

    @property
    def map_area(self) -> int:
        """Number of pixels of the last map of the encoder."""
        return self.map_shape[0] * self.map_shape[1]

    def frame(self) -> list[nn.Module]:
        """Returns the padding layer from the image to the canvas, or no layer if the sizes are equal."""
        return [nn.ZeroPad2d(self._margins)] if any(self._margins) else []

    def crop(self) -> list[nn.Module]:
        """Returns the cropping layer from the canvas to the image, or no layer if the sizes are equal."""
        left, right, top, bottom = self._margins
        return [nn.ZeroPad2d((-left, -right, -top, -bottom))] if any(self._margins) else []

    def halving(self, *, batch_norm: bool = False) -> list[nn.Module]:
        """Returns the layers from the image to the last map of the encoder."""
        return [*self.frame(), *halving((self.num_channels, *self.widths), batch_norm=batch_norm)]

    def doubling(self, *, batch_norm: bool = False) -> list[nn.Module]:
        """Returns the layers from the first map of the decoder to the image."""
        return [*doubling((*reversed(self.widths), self.num_channels), batch_norm=batch_norm), *self.crop()]

    @property
    def _margins(self) -> tuple[int, int, int, int]:
        """Padding on the left, right, top and bottom."""
        (height, width), (_, image_height, image_width) = self.size, self.image_shape
        across, down = width - image_width, height - image_height
        return across // 2, across - across // 2, down // 2, down - down // 2


class ConvNet(SizedNet):
    """Base class of architectures with convolutions that halve the image, with the output channels `channels`."""

    channels: tuple[int, ...]

    def canvas(self, image_shape: ImageShape) -> Canvas:
        return Canvas.from_channels(type(self).__name__, image_shape, self.channels)


def check_size(net: str, image_shape: ImageShape) -> None:
    """Raises if convolutional nets do not support images of the given shape."""
    num_channels, height, width = image_shape
    if not (LEAST <= height <= MOST and LEAST <= width <= MOST) or num_channels not in (1, 3):
        raise SpecError(
            f"The images are {num_channels} x {height} x {width} (channels x height x width); expected {LEAST} to "
            f"{MOST} pixels and 1 or 3 channels for {net}. Use MLP, which supports any size, or resize the images."
        )


def halving(widths: Sequence[int], *, batch_norm: bool = False) -> list[nn.Module]:
    """Returns convolutions (4 x 4, stride 2, padding 1) between consecutive widths, with ReLU after each."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [Conv2d(fan_in, fan_out, bias=not batch_norm), *activation(fan_out, batch_norm=batch_norm)]
    return layers


def doubling(widths: Sequence[int], *, batch_norm: bool = False) -> list[nn.Module]:
    """Returns transposed convolutions (4 x 4, stride 2, padding 1) between consecutive widths, with ReLU between."""
    *inner, last = pairwise(widths)
    layers: list[nn.Module] = []
    for fan_in, fan_out in inner:
        layers += [ConvTranspose2d(fan_in, fan_out, bias=not batch_norm), *activation(fan_out, batch_norm=batch_norm)]
    return [*layers, ConvTranspose2d(*last)]


def activation(width: int, *, batch_norm: bool) -> list[nn.Module]:
    """Returns ReLU, preceded by BatchNorm if `batch_norm`.

    A layer before BatchNorm has no bias, because BatchNorm subtracts it. The gradient of such a bias would consist of
    rounding errors, which Adam amplifies.
    """
    return [nn.BatchNorm2d(width), nn.ReLU()] if batch_norm else [nn.ReLU()]


def whole_map_encoder(canvas: Canvas, hidden: int, num_outputs: int, *, batch_norm: bool = False) -> nn.Sequential:
    """Returns convolutions that halve the image, a convolution over the whole last map, and a linear layer."""
    return nn.Sequential(
        *canvas.halving(batch_norm=batch_norm),
        TiledConv2d(canvas.widths[-1], hidden, canvas.map_shape, bias=not batch_norm),
        *activation(hidden, batch_norm=batch_norm),
        nn.Flatten(),
        nn.Linear(hidden, num_outputs),
    )


def whole_map_decoder(num_inputs: int, hidden: int, canvas: Canvas, *, batch_norm: bool = False) -> nn.Sequential:
    """Returns a decoder with the layers of `whole_map_encoder` in reverse."""
    return nn.Sequential(
        nn.Linear(num_inputs, hidden, bias=not batch_norm),
        nn.Unflatten(1, (hidden, 1, 1)),
        *activation(hidden, batch_norm=batch_norm),
        TiledConvTranspose2d(hidden, canvas.widths[-1], canvas.map_shape, bias=not batch_norm),
        *activation(canvas.widths[-1], batch_norm=batch_norm),
        *canvas.doubling(batch_norm=batch_norm),
    )
