"""The convolutional nets of InfoGAN, with BatchNorm."""

from dataclasses import dataclass
from itertools import pairwise

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet
from unbraid.models.layers.strided_convolutions import Conv2d


@dataclass(frozen=True)
class InfoGANConv(ConvNet):
    """The nets of Chen, Duan et al. (arXiv:1606.03657v1; their released code for MNIST).

    The config defines the generator, the critic and the encoder.

    The encoder is two layers: a trunk, which an InfoGAN's critic shares, and a head. The trunk has convolutions (4 x 4,
    stride 2) and a layer of `hidden` units, with leaky ReLUs (slope 0.2), and with `trunk_batch_norm` BatchNorm before
    all of them but the first. The head has a layer of `head` units. The decoder is codes - `hidden` - smallest map, and
    transposed convolutions, with BatchNorm before every ReLU. Biases before BatchNorm have no effect and are omitted.
    """

    channels: tuple[int, ...] = (64, 128)
    """Channels of the convolutions, each of which halves the image."""
    hidden: int = 1024
    """Units of the fully connected layer."""
    head: int = 128
    """Units of the layer between the shared trunk and the parameters of the latents."""
    trunk_batch_norm: bool = True
    """Whether the trunk has BatchNorm before all of its ReLUs but the first."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = self.canvas(image_shape)
        normed = self.trunk_batch_norm
        first, *others = pairwise((canvas.num_channels, *canvas.widths))
        trunk = [*canvas.frame(), Conv2d(*first), nn.LeakyReLU(0.2)]
        for fan_in, fan_out in others:
            trunk += [Conv2d(fan_in, fan_out, bias=not normed), *_leaky(nn.BatchNorm2d(fan_out) if normed else None)]
        trunk += [nn.Flatten(), *self._layer(self.channels[-1] * canvas.map_area, self.hidden)]
        return nn.Sequential(
            nn.Sequential(*trunk),
            nn.Sequential(*self._layer(self.hidden, self.head), nn.Linear(self.head, latents.num_parameters)),
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        canvas = self.canvas(image_shape)
        smallest = self.channels[-1] * canvas.map_area
        return nn.Sequential(
            nn.Linear(num_inputs, self.hidden, bias=False),
            nn.BatchNorm1d(self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, smallest, bias=False),
            nn.BatchNorm1d(smallest),
            nn.ReLU(),
            nn.Unflatten(1, (self.channels[-1], *canvas.map_shape)),
            *canvas.doubling(batch_norm=True),
        )

    def _layer(self, fan_in: int, fan_out: int) -> list[nn.Module]:
        """Returns a layer of the encoder."""
        norm = nn.BatchNorm1d(fan_out) if self.trunk_batch_norm else None
        return [nn.Linear(fan_in, fan_out, bias=norm is None), *_leaky(norm)]


def _leaky(norm: nn.Module | None) -> list[nn.Module]:
    return [nn.LeakyReLU(0.2)] if norm is None else [norm, nn.LeakyReLU(0.2)]
