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
    """A config of an encoder and a decoder, two plain `nn.Module`s without code for fleets or objectives.

    For custom nets, write a frozen dataclass that is an Architecture: docs/architectures.md shows one. BatchNorm layers
    are allowed: they use batch statistics in training and the statistics of all images afterwards. No other layer may
    hold buffers that training changes, and none may draw random numbers.
    """

    @abstractmethod
    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        """Returns a module from (batch, channel, height, width) to (batch, latents.num_parameters).

        Most nets need only `latents.num_parameters`; some have a head for each latent.
        """

    @abstractmethod
    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        """Returns a module from (batch, num_inputs) to (batch, channel, height, width).

        The module has no output activation, because the likelihood applies it.
        """


class SizedNet(Architecture):
    """An architecture whose fields are positive widths or tuples of them, with 1 to 5 entries in `channels`."""

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
                f"{type(self).__name__}: {field.name} is {value}; expected {expected}, such as {field.default}."
            )
