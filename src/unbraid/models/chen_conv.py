"""Convolutional nets of Chen et al., with BatchNorm."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet, whole_map_decoder, whole_map_encoder


@dataclass(frozen=True)
class ChenConv(ConvNet):
    """Convolutional nets of Chen et al. for faces (arXiv:1802.04942v5; their released code).

    The encoder has convolutions (4 x 4, stride 2) that halve the image, a convolution over the whole last map with
    `hidden` outputs, and a linear layer. The decoder has the reverse layers. BatchNorm precedes every ReLU. Two
    differences from the released code do not change the function: linear layers replace convolutions over 1 x 1 maps,
    and biases before BatchNorm are omitted.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Output channels of the convolutions, which halve the image."""
    hidden: int = 512
    """Output channels of the convolution over the whole last map."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        return whole_map_encoder(self.canvas(image_shape), self.hidden, latents.num_parameters, batch_norm=True)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return whole_map_decoder(num_inputs, self.hidden, self.canvas(image_shape), batch_norm=True)
