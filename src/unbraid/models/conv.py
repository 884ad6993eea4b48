"""Convolutional nets."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet
from unbraid.models.layers.initial_weights import InitialWeights, initialized


@dataclass(frozen=True)
class Conv(ConvNet):
    """Convolutional nets of Do & Tran for dSprites (arXiv:1908.09961v4, table 4).

    The encoder has a convolution (4 x 4, stride 2) for each entry of `channels`, a fully connected layer of `hidden`
    units, and a linear layer, with ReLU between layers. The decoder has the reverse layers. With `hidden=256` these are
    the nets of Higgins et al. for chairs and faces. The decoder outputs logits, as in the authors' code; the ReLU on
    the output in their table is an error. `init` selects the initial weights.

    Examples:
        >>> from unbraid import Autoencoder
        >>> model = Autoencoder(Conv(channels=(8, 8), hidden=16)).build((3, 32, 32), seed=0)
        >>> sum(weight.numel() for weight in model.parameters()) < 50_000
        True
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Output channels of the convolutions, which halve the image."""
    hidden: int = 128
    """Units of the fully connected layer."""
    init: InitialWeights = "torch"
    """Initial weights: torch's defaults, the authors' truncated normal, or Glorot uniform."""

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
        # Created before the other layers: the order of creation determines the initial weights, and all published
        # numbers of this net use this order.
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
