"""Fully connected nets of Esmaeili et al. for sprites."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unbraid.models.esmaeili_mnist import EsmaeiliMNIST


@dataclass(frozen=True)
class EsmaeiliDSprites(EsmaeiliMNIST):
    """Fully connected nets of Esmaeili et al. for dSprites (arXiv:1804.02086v1, table 4).

    The model of the paper has 10 Gaussian latents and one latent of 3 categories. The nets have the structure of
    `EsmaeiliMNIST`, with more and wider layers, and tanh between the layers of the decoder.
    """

    hidden: tuple[int, ...] = (1200, 1200)
    """Units of the encoder's layers."""
    branch_width: int = 400
    """Units of the hidden layer before the means, and before the log-variances."""
    decoder_hidden: tuple[int, ...] = (400, 1200, 1200)
    """Units of the decoder's layers."""

    activation: ClassVar[type[nn.Module]] = nn.Tanh
