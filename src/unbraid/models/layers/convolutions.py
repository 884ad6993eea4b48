"""What the convolutional nets share: the sizes of images they take, and stacks of convolutions that halve or double."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from torch import nn

from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.layers.strided_convolutions import Conv2d, ConvTranspose2d


@final
@dataclass(frozen=True)
class Canvas:
    """A square of 32, 64 or 128 pixels that an image fills, but for a black margin of so many pixels on each side."""

    num_channels: int
    size: int
    margin: int

    @classmethod
    def of(cls, net: str, image_shape: ImageShape) -> "Canvas":
        """The canvas for such images: 28 pixels get a margin of 2, the others none. `net` is who asks, for the message
        that refuses.
        """
        num_channels, height, width = image_shape
        if height != width or height not in (28, 32, 64, 128) or num_channels not in (1, 3):
            raise SpecError(
                f"{net} takes square images of 28, 32, 64 or 128 pixels with 1 or 3 channels; these are "
                f"{num_channels} x {height} x {width} "
                "(channels x height x width). Use MLP, which takes any size, or resize the images."
            )
        return cls(num_channels, *((32, 2) if height == 28 else (height, 0)))

    def widths(self, channels: Sequence[int]) -> tuple[int, ...]:
        """The widths of the convolutions that halve it: `channels`, and at 128 pixels one more as wide as the last."""
        return (*channels, channels[-1]) if self.size == 128 else tuple(channels)

    def map_size(self, channels: Sequence[int]) -> int:
        """What these convolutions leave of its side."""
        return int(self.size // 2 ** len(self.widths(channels)))

    def frame(self) -> list[nn.Module]:
        """The layer, if any, that puts the image on the canvas."""
        return [nn.ZeroPad2d(self.margin)] if self.margin else []

    def crop(self) -> list[nn.Module]:
        """The layer, if any, that takes the image off the canvas."""
        return [nn.ZeroPad2d(-self.margin)] if self.margin else []


def check_channels(net: str, channels: Sequence[int], least: int = 1) -> None:
    # Five halve 32 pixels to one.
    if not least <= len(channels) <= 5 or min(channels) < 1:
        raise SpecError(
            f"{net}: channels is {tuple(channels)}; expected {least} to 5 positive widths, such as (32, 32, 64, 64)."
        )


def check_width(net: str, name: str, width: int, example: int) -> None:
    if width < 1:
        raise SpecError(f"{net}: {name} is {width}; expected a positive width, such as {example}.")


def halving(widths: Sequence[int], *, batch_norm: bool = False) -> list[nn.Module]:
    """Convolutions (4 x 4, stride 2, padding 1) from each width to the next, with ReLU after every one."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [Conv2d(fan_in, fan_out, bias=not batch_norm), *activation(fan_out, batch_norm=batch_norm)]
    return layers


def doubling(widths: Sequence[int], *, batch_norm: bool = False) -> list[nn.Module]:
    """Transposed convolutions (4 x 4, stride 2, padding 1) from each width to the next, with ReLU between any two and
    none after the last.
    """
    *inner, last = pairwise(widths)
    layers: list[nn.Module] = []
    for fan_in, fan_out in inner:
        layers += [ConvTranspose2d(fan_in, fan_out, bias=not batch_norm), *activation(fan_out, batch_norm=batch_norm)]
    return [*layers, ConvTranspose2d(*last)]


def activation(width: int, *, batch_norm: bool) -> list[nn.Module]:
    """ReLU, after BatchNorm if there is one.

    A layer before BatchNorm has no bias: BatchNorm would subtract it, and its gradient would be rounding errors, which
    Adam blows up.
    """
    return [nn.BatchNorm2d(width), nn.ReLU()] if batch_norm else [nn.ReLU()]
