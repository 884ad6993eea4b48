"""Convolutional nets of InfoGAN, with BatchNorm."""

from dataclasses import dataclass
from itertools import pairwise

from torch import nn

from unbraid.models.architecture import ImageShape
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet
from unbraid.models.layers.strided_convolutions import Conv2d


@dataclass(frozen=True)
class InfoGANConv(ConvNet):
    """Nets of InfoGAN for MNIST (Chen, Duan et al., arXiv:1606.03657v1; their released code).

    The encoder is a trunk, which the critic of InfoGAN shares, and a head. The trunk has convolutions (4 x 4, stride 2)
    and a fully connected layer of `hidden` units, with leaky ReLUs (slope 0.2). With `trunk_batch_norm`, BatchNorm
    precedes all leaky ReLUs except the first. The head has a layer of `head` units. The decoder, or generator, has a
    layer of `hidden` units, a layer that outputs the first map, and transposed convolutions, with BatchNorm before
    every ReLU. Biases before BatchNorm, which have no effect, are omitted.
    """

    channels: tuple[int, ...] = (64, 128)
    """Output channels of the convolutions, which halve the image."""
    hidden: int = 1024
    """Units of the fully connected layer."""
    head: int = 128
    """Units of the hidden layer after the shared trunk."""
    trunk_batch_norm: bool = True
    """Whether the trunk has BatchNorm before all leaky ReLUs except the first."""

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
        """Returns a linear layer of the encoder with its BatchNorm and activation."""
        norm = nn.BatchNorm1d(fan_out) if self.trunk_batch_norm else None
        return [nn.Linear(fan_in, fan_out, bias=norm is None), *_leaky(norm)]


def _leaky(norm: nn.Module | None) -> list[nn.Module]:
    return [nn.LeakyReLU(0.2)] if norm is None else [norm, nn.LeakyReLU(0.2)]
