"""The convolutional nets of Do & Tran for faces."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet, whole_map_decoder, whole_map_encoder
from unbraid.models.layers.initial_weights import InitialWeights, initialized


@dataclass(frozen=True)
class DoTranCelebA(ConvNet):
    """The nets that Do & Tran train on CelebA (arXiv:1908.09961v4, table 3), with 65 latents there.

    The nets differ from `Conv` in one layer: a convolution over the whole of the smallest map (4 x 4 at 64 pixels)
    outputs the `hidden` units of the encoder, and the decoder has its transpose. The table's ReLU on the output is a
    slip, as in `Conv`. `init` is as in `Conv`.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Channels of the convolutions, each of which halves the image."""
    hidden: int = 256
    """Output channels of the convolution over the whole of the smallest map."""
    init: InitialWeights = "torch"
    """Initial weights: torch defaults, the authors' truncated normal, or Glorot's uniform."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        return initialized(whole_map_encoder(self.canvas(image_shape), self.hidden, latents.num_parameters), self.init)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return initialized(whole_map_decoder(num_inputs, self.hidden, self.canvas(image_shape)), self.init)
