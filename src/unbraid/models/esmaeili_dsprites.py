"""The fully connected nets of Esmaeili et al. for sprites."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unbraid.models.esmaeili_mnist import EsmaeiliMNIST


@dataclass(frozen=True)
class EsmaeiliDSprites(EsmaeiliMNIST):
    """The nets that Esmaeili et al. train on dSprites (arXiv:1804.02086v1, table 4).

    Their model has 10 Gaussian latents and one latent of 3 categories. The nets are as in `EsmaeiliMNIST`, with two
    layers of 1200, branches of 400, and a decoder of code - 400 - 1200 - 1200 - pixels with tanh between.
    """

    hidden: tuple[int, ...] = (1200, 1200)
    """Units of the encoder's layers."""
    branch_width: int = 400
    """Units of the layer before the parameters of each latent."""
    decoder_hidden: tuple[int, ...] = (400, 1200, 1200)
    """Units of the decoder's layers."""

    activation: ClassVar[type[nn.Module]] = nn.Tanh
