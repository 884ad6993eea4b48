"""Convolutional nets of disentanglement_lib."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.conv import Conv
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet, halving
from unbraid.models.layers.heads import layer_sizes
from unbraid.models.layers.initial_weights import InitialWeights, initialized
from unbraid.models.layers.tiled_convolutions import TiledConv2d

_NUM_LARGE = 2  # convolutions of 4 x 4, which come first


@dataclass(frozen=True)
class DisentanglementLibConv(ConvNet):
    """Convolutional nets of disentanglement_lib, used for all models of Locatello et al. (arXiv:1811.12359v4).

    These nets differ from `Conv(hidden=256)` in two ways. The third and later convolutions of the encoder have 2 x 2
    kernels (stride 2, no padding). Initial weights are Glorot uniform with biases of 0. For the Glorot bounds, means,
    log-variances and the logits of each discrete latent count as separate layers, as in that library.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Output channels of the convolutions, which halve the image."""
    hidden: int = 256
    """Units of the fully connected layer."""
    init: InitialWeights = "glorot_uniform"
    """Initial weights: Glorot uniform as in the library, torch's defaults, or Do & Tran's truncated normal."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = self.canvas(image_shape)
        widths = (canvas.num_channels, *canvas.widths)
        small: list[nn.Module] = []
        for fan_in, fan_out in pairwise(widths[_NUM_LARGE:]):
            small += [TiledConv2d(fan_in, fan_out, (2, 2), stride=2), nn.ReLU()]
        outputs = nn.Linear(self.hidden, latents.num_parameters)
        encoder = nn.Sequential(
            *canvas.frame(),
            *halving(widths[: _NUM_LARGE + 1]),
            *small,
            nn.Flatten(),
            nn.Linear(self.channels[-1] * canvas.map_area, self.hidden),
            nn.ReLU(),
            outputs,
        )
        initialized(encoder, self.init)
        if self.init == "glorot_uniform":
            with torch.no_grad():
                for layer in outputs.weight.split(layer_sizes(latents)):
                    nn.init.xavier_uniform_(layer)
        return encoder

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return Conv(self.channels, self.hidden, self.init).make_decoder(num_inputs, image_shape)
