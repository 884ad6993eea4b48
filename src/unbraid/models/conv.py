"""Convolutional nets."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet
from unbraid.models.layers.initial_weights import InitialWeights, initialized


@dataclass(frozen=True)
class Conv(ConvNet):
    """The convolutional nets that Do & Tran train on dSprites (arXiv:1908.09961v4, table 4).

    With `hidden=256` they are the nets of Higgins et al. for chairs and faces.

    Each convolution (4 x 4, stride 2), one per entry of `channels`, halves the image. A layer of `hidden` units
    follows. The decoder is the mirror image. ReLU between layers. The table's ReLU on the output is a slip: the decoder
    outputs logits, as its authors' code does. Initial weights are the defaults of torch unless `init` asks for the
    authors' truncated normal.

    Examples:
        >>> from unbraid import Autoencoder
        >>> model = Autoencoder(Conv(channels=(8, 8), hidden=16)).build((3, 32, 32), seed=0)
        >>> sum(weight.numel() for weight in model.parameters()) < 50_000
        True
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Channels of the convolutions, each of which halves the image."""
    hidden: int = 128
    """Units of the fully connected layer."""
    init: InitialWeights = "torch"
    """Initial weights: torch defaults, the authors' truncated normal, or Glorot's uniform."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = self.canvas(image_shape)
        encoder = nn.Sequential(
            *canvas.halving(),
            nn.Flatten(),
            nn.Linear(self.channels[-1] * canvas.map_area, self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, latents.num_parameters),
        )
        return initialized(encoder, self.init)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        canvas = self.canvas(image_shape)
        smallest = (self.channels[-1], *canvas.map_shape)
        # First, though they come last: layers draw their initial weights in the order in which they are made, and every
        # published number of this net comes from this order.
        convolutions = canvas.doubling()
        decoder = nn.Sequential(
            nn.Linear(num_inputs, self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, smallest[0] * smallest[1] * smallest[2]),
            nn.Unflatten(1, smallest),
            nn.ReLU(),
            *convolutions,
        )
        return initialized(decoder, self.init)
