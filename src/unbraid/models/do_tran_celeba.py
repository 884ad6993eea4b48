"""Convolutional nets of Do & Tran for faces."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet, whole_map_decoder, whole_map_encoder
from unbraid.models.layers.initial_weights import InitialWeights, initialized


@dataclass(frozen=True)
class DoTranCelebA(ConvNet):
    """Convolutional nets of Do & Tran for CelebA (arXiv:1908.09961v4, table 3), used there with 65 latents.

    These nets differ from `Conv` in one layer. In the encoder, a convolution over the whole last map outputs the
    `hidden` units; the decoder has the transposed convolution. The ReLU on the output in the table is an error.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Output channels of the convolutions, which halve the image."""
    hidden: int = 256
    """Output channels of the convolution over the whole last map."""
    init: InitialWeights = "torch"
    """Initial weights: torch's defaults, the authors' truncated normal, or Glorot uniform."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        return initialized(whole_map_encoder(self.canvas(image_shape), self.hidden, latents.num_parameters), self.init)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return initialized(whole_map_decoder(num_inputs, self.hidden, self.canvas(image_shape)), self.init)
