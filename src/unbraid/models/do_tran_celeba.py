"""The convolutional nets of Do & Tran for faces."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import Architecture, ImageShape, check_net_sizes
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import Canvas, doubling, halving
from unbraid.models.layers.initial_weights import InitialWeights, initialized
from unbraid.models.layers.tiled_convolutions import TiledConv2d, TiledConvTranspose2d


@dataclass(frozen=True)
class DoTranCelebA(Architecture):
    """The nets that Do & Tran train on CelebA (arXiv:1908.09961v4, table 3), with 65 latents there.

    As `Conv`, but a convolution over the whole of the smallest map (4 x 4 at 64 pixels) makes the `hidden` units of the
    encoder, and its transpose undoes it in the decoder. The table's ReLU on the output is a slip, as in `Conv`; so is
    `init` the same.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Channels of the convolutions, each of which halves the image."""
    hidden: int = 256
    """Units that the convolution over the whole of the smallest map makes."""
    init: InitialWeights = "torch"
    """Initial weights: those of torch, the authors' truncated normal, or Glorot's uniform ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_net_sizes(self)

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = Canvas.of("DoTranCelebA", image_shape, self.channels)
        encoder = nn.Sequential(
            *canvas.frame(),
            *halving((canvas.num_channels, *canvas.widths)),
            TiledConv2d(self.channels[-1], self.hidden, canvas.map_shape),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(self.hidden, latents.num_parameters),
        )
        return initialized(encoder, self.init)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        canvas = Canvas.of("DoTranCelebA", image_shape, self.channels)
        decoder = nn.Sequential(
            nn.Linear(num_inputs, self.hidden),
            nn.ReLU(),
            nn.Unflatten(1, (self.hidden, 1, 1)),
            TiledConvTranspose2d(self.hidden, self.channels[-1], canvas.map_shape),
            nn.ReLU(),
            *doubling((*reversed(canvas.widths), canvas.num_channels)),
            *canvas.crop(),
        )
        return initialized(decoder, self.init)
