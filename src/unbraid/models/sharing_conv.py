"""Convolutional nets whose encoder has no fully connected layer, so that latents share the last kernels."""

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
    """Sharing-parameter encoder of an anonymous paper submitted to ICLR 2020.

    *An Information Theoretic Perspective on Disentangled Representation Learning*. The encoder has only convolutions (4
    x 4, stride 2), which reduce the image to a map of `map_size` x `map_size`. The flattened last map is the parameters
    of the latents, so each kernel outputs several parameters. At 64 pixels and 10 Gaussian latents the last map is
    5 x 2 x 2. `channels` are the widths of the other convolutions. The shapes are ours, because the paper gives none.
    The decoder is the decoder of `Conv` with `hidden` units.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Output channels of the convolutions before the last; the last entry is repeated as needed."""
    map_size: int = 2
    """Height and width of the last map, which contains the parameters of the latents."""
    hidden: int = 256
    """Units of the decoder's fully connected layer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.map_size not in (2, 4, 8):
            raise SpecError(f"SharingConv: map_size is {self.map_size}; expected 2, 4 or 8. Pass e.g. map_size=2.")

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
        """Returns the output channels of all convolutions of the encoder."""
        last, rest = divmod(latents.num_parameters, self.map_size**2)
        if rest:
            raise SpecError(
                f"{type(latents).__name__} have {latents.num_parameters} parameters; expected a multiple of "
                f"{self.map_size**2} for the {self.map_size} x {self.map_size} maps of SharingConv. "
                + (
                    "Use an even number of Gaussian latents."
                    if self.map_size == 2
                    else "Use a smaller map_size, or another number of latents."
                )
            )
        num_inner = (canvas.size[0] // self.map_size).bit_length() - 2
        return (*self.channels[:num_inner], *[self.channels[-1]] * (num_inner - len(self.channels)), last)
