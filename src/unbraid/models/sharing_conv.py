"""Convolutional nets whose encoder has no fully connected layer, so that latents share its last kernels."""

from dataclasses import dataclass

from torch import nn

from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape, SizedNet
from unbraid.models.conv import Conv
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import Canvas, halving
from unbraid.models.layers.strided_convolutions import Conv2d


@dataclass(frozen=True)
class SharingConv(SizedNet):
    """The sharing-parameter encoder of an anonymous paper submitted to ICLR 2020.

    *An Information Theoretic Perspective on Disentangled Representation Learning*.

    It has convolutions only (4 x 4, stride 2), which halve the image until `map_size` x `map_size` is left; the last
    map, flattened, is the parameters of the latents, several from each kernel. Earlier convolutions have the widths
    `channels`, of which the last is repeated as needed. At 64 pixels and 10 Gaussian latents the last map is 5 x 2 x 2,
    and its middle kernel makes two means and two log-variances. The paper gives no shapes. The decoder is that of
    `Conv`, with `hidden` units.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Channels of the convolutions before the last one. The last entry is repeated as needed."""
    map_size: int = 2
    """Height and width of the last map, which holds the parameters of the latents."""
    hidden: int = 256
    """Units of the decoder's fully connected layer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.map_size not in (2, 4, 8):
            raise SpecError(
                f"SharingConv: map_size is {self.map_size}; expected 2, 4 or 8. (A map of 1 x 1 would be a fully "
                "connected layer, which shares nothing.)"
            )

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = Canvas.square("SharingConv", image_shape)
        *_, last = widths = self._widths(canvas, latents)
        return nn.Sequential(
            *canvas.frame(),
            *halving((canvas.num_channels, *widths[:-1])),
            Conv2d(widths[-2], last),
            nn.Flatten(),
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return Conv(self.channels, self.hidden).make_decoder(num_inputs, image_shape)

    def _widths(self, canvas: Canvas, latents: Latents) -> tuple[int, ...]:
        """Returns the widths of all convolutions of the encoder."""
        last, rest = divmod(latents.num_parameters, self.map_size**2)
        if rest:
            raise SpecError(
                f"SharingConv outputs maps of {self.map_size} x {self.map_size}, so the latents must take a multiple "
                f"of {self.map_size**2} numbers; "
                f"these {type(latents).__name__} take {latents.num_parameters}. "
                + (
                    "Use an even number of Gaussian latents."
                    if self.map_size == 2
                    else "Use a smaller map_size, or another number of latents."
                )
            )
        num_inner = (canvas.size[0] // self.map_size).bit_length() - 2
        return (*self.channels[:num_inner], *[self.channels[-1]] * (num_inner - len(self.channels)), last)
