"""Decoders to compare with torch: one of every architecture, with statistics as after training."""

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from tests.models.nets import SMALL, a_draw
from unbraid.models.architecture import Architecture, ImageShape
from unbraid.models.layers.initial_weights import seeded

NUM_INPUTS = 5


def decoder_of(architecture: Architecture, image_shape: ImageShape) -> nn.Module:
    decoder = seeded(lambda: architecture.make_decoder(NUM_INPUTS, image_shape), 0)
    return disturbed(decoder)


def disturbed(decoder: nn.Module) -> nn.Module:
    """The same net with BatchNorm's statistics as training leaves them."""
    for number, layer in enumerate(decoder.modules()):
        if isinstance(layer, _BatchNorm):
            shift = a_draw(len(layer.running_mean), seed=number).float()
            layer.running_mean.copy_(0.1 * shift)
            layer.running_var.copy_(0.5 + shift.square())
            with torch.no_grad():
                layer.weight.copy_(1 + 0.3 * shift.flip(0))
                layer.bias.copy_(0.2 * shift)
    return decoder.eval().requires_grad_(False)


def small(name: str) -> Architecture:
    return next(net for net in SMALL if type(net).__name__ == name)
