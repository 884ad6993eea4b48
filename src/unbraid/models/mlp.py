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
    """The fully connected nets that Chen et al. train on dSprites (arXiv:1802.04942v5; their released code).

    Higgins et al. used them before.

    The encoder is pixels - 1200 - 1200 - outputs with ReLU between, the decoder latents - 1200 - 1200 - 1200 - pixels
    with tanh between.

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
    """Returns linear layers of these widths with the activation between any two layers, and none after the last."""
    *inner, last = pairwise(widths)
    for fan_in, fan_out in inner:
        yield nn.Linear(fan_in, fan_out)
        yield activation()
    yield nn.Linear(*last)


def mlp_decoder(
    num_inputs: int, hidden: Sequence[int], image_shape: ImageShape, activation: type[nn.Module]
) -> nn.Module:
    """Returns a net from codes to images through fully connected layers of these widths."""
    widths = num_inputs, *hidden, math.prod(image_shape)
    return nn.Sequential(*fully_connected(widths, activation), nn.Unflatten(1, image_shape))
