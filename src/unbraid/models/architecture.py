"""Base class of architectures: configs that create an encoder and a decoder."""

import dataclasses
from abc import ABC, abstractmethod
from typing import ClassVar

from torch import nn

from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.distributions.posteriors.latents import Latents

ImageShape = tuple[int, int, int]
"""(channels, height, width)."""


class Architecture(Config, ABC):
    """Base class of configs that create an encoder and a decoder, two plain modules.

    For custom nets, write a frozen dataclass that subclasses Architecture; docs/architectures.md has an example.
    BatchNorm layers use batch statistics in training and the statistics of all images afterwards. Other layers must not
    update buffers in training, and no layer may draw random numbers.
    """

    @abstractmethod
    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        """Returns a module from (batch, channel, height, width) to (batch, latents.num_parameters).

        Most nets read only `latents.num_parameters`; nets with a head for each latent also read the family.
        """

    @abstractmethod
    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        """Returns a module from (batch, num_inputs) to (batch, channel, height, width).

        The module has no output activation, because the likelihood applies the activation.
        """


class SizedNet(Architecture):
    """Base class of architectures whose fields are positive widths or tuples of widths; `channels` has 1 to 5."""

    least_channels: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            sizes = value if isinstance(value, tuple) else (value,)
            # 5 convolutions halve 32 pixels to 1.
            least, most = (self.least_channels, 5) if field.name == "channels" else (1, len(sizes))
            if isinstance(value, bool | str) or (least <= len(sizes) <= most and min(sizes) >= 1):
                continue
            expected = f"{least} to {most} positive widths" if field.name == "channels" else "positive widths"
            raise SpecError(
                f"{type(self).__name__}: {field.name} is {value}; expected {expected}. Pass e.g. {field.default}."
            )
