"""What it takes to be a net of ours: a frozen recipe that makes a plain encoder and a plain decoder."""

from abc import ABC, abstractmethod

from torch import nn

ImageShape = tuple[int, int, int]
"""(channels, height, width)."""


class Architecture(ABC):
    """A recipe for two `nn.Module`s. They know nothing of fleets, objectives or distributions, and hold no buffers that training changes."""

    @abstractmethod
    def make_encoder(self, image_shape: ImageShape, num_outputs: int) -> nn.Module:
        """A module from (batch, channel, height, width) to (batch, num_outputs)."""

    @abstractmethod
    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        """A module from (batch, num_inputs) to (batch, channel, height, width), without a final squashing: the likelihood does that."""
