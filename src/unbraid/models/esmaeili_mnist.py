"""Fully connected nets of Esmaeili et al. for digits and clothes."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unbraid.models.architecture import ImageShape, SizedNet
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.heads import Branched
from unbraid.models.mlp import fully_connected, mlp_decoder


@dataclass(frozen=True)
class EsmaeiliMNIST(SizedNet):
    """Fully connected nets of Esmaeili et al. for MNIST and Fashion-MNIST (arXiv:1804.02086v1, table 3).

    The model of the paper has 10 Gaussian latents and one latent of 10 categories. After the `hidden` layers of the
    encoder, separate branches of `branch_width` units output the means and the log-variances, and a linear layer
    outputs the logits of the discrete latents. ReLU is between layers. Images may have any size.
    """

    hidden: tuple[int, ...] = (400,)
    """Units of the encoder's layers."""
    branch_width: int = 200
    """Units of the hidden layer before the means, and before the log-variances."""
    decoder_hidden: tuple[int, ...] = (200, 400)
    """Units of the decoder's layers."""

    activation: ClassVar[type[nn.Module]] = nn.ReLU

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        return nn.Sequential(
            nn.Flatten(),
            *fully_connected((math.prod(image_shape), *self.hidden), nn.ReLU),
            nn.ReLU(),
            Branched(self.hidden[-1], self.branch_width, latents),
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return mlp_decoder(num_inputs, self.decoder_hidden, image_shape, self.activation)
