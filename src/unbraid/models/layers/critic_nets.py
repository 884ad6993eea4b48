"""Nets of critics with leaky ReLUs (slope 0.2), as in Do & Tran, arXiv:1908.09961v4, tables 3 and 4."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.layers.initial_weights import InitialWeights, initialized
from unbraid.models.layers.strided_convolutions import Conv2d

HIDDEN = (1000, 1000, 1000, 1000, 1000)
"""Units of the fully connected layers of a critic."""
CHANNELS = (32, 32, 64, 64)
"""Output channels of the convolutions of a critic of images."""


def critic_of_codes(
    num_inputs: int, num_outputs: int, hidden: Sequence[int] = HIDDEN, init: InitialWeights = "torch"
) -> nn.Module:
    """Returns a fully connected critic from (batch, num_inputs) to (batch, num_outputs)."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise((num_inputs, *hidden)):
        layers += [nn.Linear(fan_in, fan_out), nn.LeakyReLU(0.2)]
    return initialized(nn.Sequential(*layers, nn.Linear(hidden[-1], num_outputs)), init)


def critic_of_images(
    image_shape: ImageShape,
    num_outputs: int,
    channels: Sequence[int] = CHANNELS,
    hidden: Sequence[int] = HIDDEN,
    init: InitialWeights = "torch",
) -> nn.Module:
    """Returns a convolutional critic from (batch, channel, height, width) to (batch, num_outputs).

    Convolutions (4 x 4, stride 2) precede the fully connected layers.
    """
    num_channels, height, width = image_shape
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise((num_channels, *channels)):
        layers += [Conv2d(fan_in, fan_out), nn.LeakyReLU(0.2)]
        height, width = height // 2, width // 2
    if min(height, width) < 1:
        raise SpecError(
            f"Critic: channels has {len(channels)} entries; expected fewer for images of {image_shape}, because every "
            "convolution halves the image. Pass fewer channels."
        )
    num_features = height * width * (channels[-1] if channels else num_channels)
    return initialized(
        nn.Sequential(*layers, nn.Flatten(), critic_of_codes(num_features, num_outputs, hidden, init)), init
    )
