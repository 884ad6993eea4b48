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
    """Critic (discriminator) network with leaky ReLUs (slope 0.2) and a separate optimizer.

    Codes are the input of fully connected layers. Images first pass convolutions (4 x 4, stride 2) with `channels`.
    The defaults follow Do & Tran, arXiv:1908.09961v4, tables 3 and 4: five layers of 1000 units. The parameters of Adam
    are from Kim & Mnih, arXiv:1802.05983v3, as in disentanglement_lib. Do & Tran use `betas` of 0.5 and 0.99.
    """

    hidden: tuple[int, ...] = HIDDEN
    """Number of units of each fully connected layer."""
    channels: tuple[int, ...] = CHANNELS
    """Number of channels of each convolution before the fully connected layers, for critics of images."""
    optimizer: Optimizer = field(default_factory=lambda: Adam(1e-4, betas=(0.5, 0.9)))
    """Optimizer of the critic."""
    init: InitialWeights = "torch"
    """Initial weights: torch's defaults, Do & Tran's truncated normal, or Glorot's uniform."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.hidden or min(self.hidden) < 1:
            raise SpecError(
                f"Critic: hidden is {self.hidden}; expected one or more positive integers. Use e.g. (1000, 1000)."
            )
        if self.channels and min(self.channels) < 1:
            raise SpecError(f"Critic: channels is {self.channels}; expected positive integers. Use e.g. (32, 32, 64).")

    def for_codes(self, num_inputs: int, num_outputs: int) -> nn.Module:
        """Creates a module from codes (batch, num_inputs) to outputs (batch, num_outputs)."""
        return critic_of_codes(num_inputs, num_outputs, self.hidden, self.init)

    def for_images(self, image_shape: ImageShape, num_outputs: int) -> nn.Module:
        """Creates a module from images (batch, channel, height, width) to outputs (batch, num_outputs)."""
        return critic_of_images(image_shape, num_outputs, self.channels, self.hidden, self.init)
