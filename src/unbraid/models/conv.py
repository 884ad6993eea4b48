"""Convolutional nets."""

from dataclasses import dataclass
from itertools import pairwise
from typing import final

from torch import nn

from unbraid.errors import SpecError
from unbraid.models.architecture import Architecture, ImageShape


@final
@dataclass(frozen=True)
class Conv(Architecture):
    """The convolutional nets of Do & Tran, arXiv:1908.09961v4, table 4, for images of 32 or 64 pixels with 1 or 3 channels.

    Convolutions (4 x 4, stride 2), one for each entry of `channels`, halve the image each; then comes a layer of `hidden` units. The decoder
    is the mirror image. ReLU between layers. The table's ReLU on the output is a slip: the decoder puts out logits, as its authors' code does.
    Initial weights are torch's own, where the authors draw them from a truncated normal.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    hidden: int = 128

    def __post_init__(self) -> None:
        if self.hidden < 1:
            raise SpecError(f"Conv: hidden is {self.hidden}; expected a positive width, such as 128.")
        if not 1 <= len(self.channels) <= 5 or min(self.channels) < 1:
            raise SpecError(f"Conv: channels is {self.channels}; expected one to five positive widths, such as (32, 32, 64, 64).")

    def make_encoder(self, image_shape: ImageShape, num_outputs: int) -> nn.Module:
        num_channels, last_size = self._check(image_shape)
        convolutions: list[nn.Module] = []
        for fan_in, fan_out in pairwise((num_channels, *self.channels)):
            convolutions += [nn.Conv2d(fan_in, fan_out, kernel_size=4, stride=2, padding=1), nn.ReLU()]
        return nn.Sequential(
            *convolutions,
            nn.Flatten(),
            nn.Linear(self.channels[-1] * last_size**2, self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, num_outputs),
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        num_channels, last_size = self._check(image_shape)
        deconvolutions: list[nn.Module] = []
        for fan_in, fan_out in pairwise((*reversed(self.channels), num_channels)):
            deconvolutions += [nn.ReLU(), nn.ConvTranspose2d(fan_in, fan_out, kernel_size=4, stride=2, padding=1)]
        return nn.Sequential(
            nn.Linear(num_inputs, self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, self.channels[-1] * last_size**2),
            nn.Unflatten(1, (self.channels[-1], last_size, last_size)),
            *deconvolutions,
        )

    def _check(self, image_shape: ImageShape) -> tuple[int, int]:
        """The number of channels, and the size of the smallest feature map."""
        num_channels, height, width = image_shape
        if height != width or height not in (32, 64) or num_channels not in (1, 3):
            raise SpecError(
                f"Conv takes square images of 32 or 64 pixels with 1 or 3 channels; these are {num_channels} x {height} x {width} "
                "(channels x height x width). Use MLP, which takes any size, or resize the images."
            )
        return num_channels, height // 2 ** len(self.channels)
