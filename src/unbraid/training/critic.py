"""Critics of codes and of images."""

from dataclasses import dataclass, field
from typing import final

from torch import nn

from unbraid.config import Config
from unbraid.errors import SpecError
from unbraid.models.architecture import ImageShape
from unbraid.models.layers.critic_nets import CHANNELS, HIDDEN, critic_of_codes, critic_of_images
from unbraid.models.layers.initial_weights import InitialWeights
from unbraid.training.optimizers.adam import Adam
from unbraid.training.optimizers.optimizer import Optimizer


@final
@dataclass(frozen=True)
class Critic(Config):
    """A net with leaky ReLUs (slope 0.2), with its own optimizer.

    Codes go through fully connected layers; images first through convolutions (4 x 4, stride 2) of these `channels`.
    The layers are those of Do & Tran, arXiv:1908.09961v4, tables 3 and 4: five of 1000 units. The Adam is that of
    Kim & Mnih, arXiv:1802.05983v3, as disentanglement_lib has it; Do & Tran have `betas` of 0.5 and 0.99.
    """

    hidden: tuple[int, ...] = HIDDEN
    """Units of the fully connected layers."""
    channels: tuple[int, ...] = CHANNELS
    """Channels of the convolutions that images go through first."""
    optimizer: Optimizer = field(default_factory=lambda: Adam(1e-4, betas=(0.5, 0.9)))
    """How the critic's weights follow their gradients."""
    init: InitialWeights = "torch"
    """Initial weights: those of torch, Do & Tran's truncated normal, or Glorot's uniform ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.hidden or min(self.hidden) < 1:
            raise SpecError(
                f"Critic: hidden is {self.hidden}; expected one or more positive widths, such as (1000, 1000)."
            )
        if self.channels and min(self.channels) < 1:
            raise SpecError(f"Critic: channels is {self.channels}; expected positive widths, such as (32, 32, 64, 64).")

    def for_codes(self, num_inputs: int, num_outputs: int) -> nn.Module:
        """Returns a module from (batch, num_inputs) to (batch, num_outputs)."""
        return critic_of_codes(num_inputs, num_outputs, self.hidden, self.init)

    def for_images(self, image_shape: ImageShape, num_outputs: int) -> nn.Module:
        """Returns a module from (batch, channel, height, width) to (batch, num_outputs)."""
        return critic_of_images(image_shape, num_outputs, self.channels, self.hidden, self.init)
