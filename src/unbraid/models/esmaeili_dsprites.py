"""The fully connected nets of Esmaeili et al. for sprites."""

import math
from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import Architecture, ImageShape, check_net_sizes
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.heads import branched_mlp
from unbraid.models.mlp import mlp_decoder


@dataclass(frozen=True)
class EsmaeiliDSprites(Architecture):
    """The nets that Esmaeili et al. train on dSprites (arXiv:1804.02086v1, table 4).

    There, with 10 Gaussian latents and one of 3 categories.

    The encoder is pixels - 1200 - 1200 with ReLU, then 400 - means, 400 - log-variances and logits of the discrete
    latents, each from the second 1200. The decoder is code - 400 - 1200 - 1200 - pixels with tanh between. Images of
    any size.
    """

    hidden: tuple[int, ...] = (1200, 1200)
    """Units of the encoder's layers."""
    branch_width: int = 400
    """Units of the layer before the parameters of each latent."""
    decoder_hidden: tuple[int, ...] = (400, 1200, 1200)
    """Units of the decoder's layers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_net_sizes(self)

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        return branched_mlp(math.prod(image_shape), self.hidden, self.branch_width, latents)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return mlp_decoder(num_inputs, self.decoder_hidden, image_shape, nn.Tanh)
