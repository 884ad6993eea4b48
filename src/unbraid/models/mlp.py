"""Fully connected nets."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from torch import nn

from unbraid.models.architecture import ImageShape, SizedNet
from unbraid.models.distributions.posteriors.latents import Latents


@dataclass(frozen=True)
class MLP(SizedNet):
    """Fully connected nets of Chen et al. for dSprites (arXiv:1802.04942v5; their released code).

    The nets were first used by Higgins et al. The encoder has two hidden layers of 1200 units with ReLU, and the
    decoder three with tanh.

    Examples:
        >>> from unbraid import Autoencoder
        >>> model = Autoencoder(MLP(hidden=(32,), decoder_hidden=(32,))).build((1, 16, 16), seed=0)
        >>> model.encoder
        Sequential(...(1): Linear(in_features=256, out_features=32, bias=True)...)
    """

    hidden: tuple[int, ...] = (1200, 1200)
    """Units of the encoder's layers."""
    decoder_hidden: tuple[int, ...] = (1200, 1200, 1200)
    """Units of the decoder's layers."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        return nn.Sequential(
            nn.Flatten(), *fully_connected((math.prod(image_shape), *self.hidden, latents.num_parameters), nn.ReLU)
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return mlp_decoder(num_inputs, self.decoder_hidden, image_shape, nn.Tanh)


def fully_connected(widths: Sequence[int], activation: type[nn.Module]) -> Iterator[nn.Module]:
    """Returns linear layers between consecutive widths, with the activation after all layers except the last."""
    *inner, last = pairwise(widths)
    for fan_in, fan_out in inner:
        yield nn.Linear(fan_in, fan_out)
        yield activation()
    yield nn.Linear(*last)


def mlp_decoder(
    num_inputs: int, hidden: Sequence[int], image_shape: ImageShape, activation: type[nn.Module]
) -> nn.Module:
    """Returns a fully connected decoder from codes to images, with hidden layers of the widths `hidden`."""
    widths = num_inputs, *hidden, math.prod(image_shape)
    return nn.Sequential(*fully_connected(widths, activation), nn.Unflatten(1, image_shape))
