"""The convolutional nets of Chen et al., with BatchNorm."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet, whole_map_decoder, whole_map_encoder


@dataclass(frozen=True)
class ChenConv(ConvNet):
    """The convolutional nets that Chen et al. train on faces (arXiv:1802.04942v5; their released code).

    BatchNorm comes before every ReLU.

    Convolutions (4 x 4, stride 2) halve the image; one over the whole of the smallest map (4 x 4 at 64 pixels) makes
    `hidden` units. The decoder is the mirror image. A convolution over 1 x 1 maps is a linear layer: at the ends of the
    encoder and of the decoder the released code has such convolutions. Its biases before BatchNorm have no effect and
    are omitted here.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Channels of the convolutions, each of which halves the image."""
    hidden: int = 512
    """Output channels of the convolution over the whole of the smallest map."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        return whole_map_encoder(self.canvas(image_shape), self.hidden, latents.num_parameters, batch_norm=True)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return whole_map_decoder(num_inputs, self.hidden, self.canvas(image_shape), batch_norm=True)
