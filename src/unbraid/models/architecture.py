"""What it takes to be a net of ours: a frozen recipe that makes a plain encoder and a plain decoder."""

from abc import ABC, abstractmethod

from torch import nn

from unbraid.distributions.posteriors.latents import Latents
from unbraid.recipes import Recipe

ImageShape = tuple[int, int, int]
"""(channels, height, width)."""


class Architecture(Recipe, ABC):
    """A recipe for two plain `nn.Module`s, which know nothing of fleets and objectives.

    For nets of one's own, write a frozen dataclass that is an Architecture: docs/architectures.md shows one. BatchNorm
    layers may be among the layers: they see the statistics of the batch while training, and those of all images
    afterwards. No other layer may hold buffers that training changes, and none may draw random numbers.
    """

    @abstractmethod
    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        """Returns a module from (batch, channel, height, width) to (batch, latents.num_parameters).

        Most nets need no more of the latents than that number; some have a head for each.
        """

    @abstractmethod
    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        """Returns a module from (batch, num_inputs) to (batch, channel, height, width), without a final squashing: the
        likelihood does that.
        """
