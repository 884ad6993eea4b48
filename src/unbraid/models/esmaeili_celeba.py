"""Convolutional nets of Esmaeili et al. for faces, with BatchNorm."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet
from unbraid.models.layers.heads import Branched


@dataclass(frozen=True)
class EsmaeiliCelebA(ConvNet):
    """Convolutional nets of Esmaeili et al. for CelebA (arXiv:1804.02086v1, table 5).

    The model of the paper has 20 Gaussian latents and two Bernoulli latents. The encoder has convolutions (4 x 4,
    stride 2) with BatchNorm and ReLU. From the last map, separate branches of `branch_width` units output the means and
    the log-variances, and a linear layer outputs the logits of the discrete latents. The decoder has a layer of
    `decoder_hidden` units with ReLU, a layer with tanh that outputs the first map, and transposed convolutions with
    BatchNorm and ReLU. Means are linear; the ReLU on the means in the table is an error. Biases before BatchNorm, which
    have no effect, are omitted.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Output channels of the convolutions, which halve the image."""
    branch_width: int = 256
    """Units of the hidden layer before the means, and before the log-variances."""
    decoder_hidden: int = 256
    """Units of the decoder's fully connected layer."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = self.canvas(image_shape)
        return nn.Sequential(
            *canvas.halving(batch_norm=True),
            nn.Flatten(),
            Branched(self.channels[-1] * canvas.map_area, self.branch_width, latents),
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        canvas = self.canvas(image_shape)
        smallest = (self.channels[-1], *canvas.map_shape)
        return nn.Sequential(
            nn.Linear(num_inputs, self.decoder_hidden),
            nn.ReLU(),
            nn.Linear(self.decoder_hidden, smallest[0] * smallest[1] * smallest[2]),
            nn.Tanh(),
            nn.Unflatten(1, smallest),
            *canvas.doubling(batch_norm=True),
        )
