"""The convolutional nets of Esmaeili et al. for faces, with BatchNorm."""

from dataclasses import dataclass

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet
from unbraid.models.layers.heads import Branched


@dataclass(frozen=True)
class EsmaeiliCelebA(ConvNet):
    """The nets that Esmaeili et al. train on CelebA (arXiv:1804.02086v1, table 5).

    Their model has 20 Gaussian latents and two Bernoulli latents. Convolutions (4 x 4, stride 2) with BatchNorm and
    ReLU halve the image; then 256 - means, 256 - log-variances and logits of the discrete latents, each from the
    smallest map. The decoder is code - 256 with ReLU - smallest map with tanh, and transposed convolutions with
    BatchNorm and ReLU. The table's ReLU on the means is a slip: those are linear. Biases before BatchNorm have no
    effect and are omitted.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Channels of the convolutions, each of which halves the image."""
    branch_width: int = 256
    """Units of the layer before the parameters of each latent."""
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
