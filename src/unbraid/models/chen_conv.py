"""The convolutional nets of Chen et al., with BatchNorm."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import Architecture, ImageShape, check_net_sizes
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import Canvas, activation, doubling, halving
from unbraid.models.layers.tiled_convolutions import TiledConv2d, TiledConvTranspose2d


@dataclass(frozen=True)
class ChenConv(Architecture):
    """The convolutional nets that Chen et al. train on faces (arXiv:1802.04942v5; their released code).

    BatchNorm comes before every ReLU.

    Convolutions (4 x 4, stride 2) halve the image; one over the whole of the smallest map (4 x 4 at 64 pixels) makes
    `hidden` units. The decoder is the mirror image. A convolution over 1 x 1 maps is a linear layer: at the ends of the
    encoder and of the decoder the released code has such convolutions. The biases that it has before BatchNorm do
    nothing, and are left out.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Channels of the convolutions, each of which halves the image."""
    hidden: int = 512
    """Units that the convolution over the whole of the smallest map makes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_net_sizes(self)

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = Canvas.of("ChenConv", image_shape, self.channels)
        return nn.Sequential(
            *canvas.frame(),
            *halving((canvas.num_channels, *canvas.widths), batch_norm=True),
            TiledConv2d(self.channels[-1], self.hidden, canvas.map_shape, bias=False),
            *activation(self.hidden, batch_norm=True),
            nn.Flatten(),
            nn.Linear(self.hidden, latents.num_parameters),
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        canvas = Canvas.of("ChenConv", image_shape, self.channels)
        return nn.Sequential(
            nn.Linear(num_inputs, self.hidden, bias=False),
            nn.Unflatten(1, (self.hidden, 1, 1)),
            *activation(self.hidden, batch_norm=True),
            TiledConvTranspose2d(self.hidden, self.channels[-1], canvas.map_shape, bias=False),
            *activation(self.channels[-1], batch_norm=True),
            *doubling((*reversed(canvas.widths), canvas.num_channels), batch_norm=True),
            *canvas.crop(),
        )
