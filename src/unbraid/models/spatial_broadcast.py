"""Spatial broadcast decoder, which repeats the code and adds coordinates at every pixel."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.models.architecture import ImageShape, SizedNet
from unbraid.models.conv import Conv
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import check_size


@dataclass(frozen=True)
class SpatialBroadcast(SizedNet):
    """Spatial broadcast decoder of Watters et al. (arXiv:1901.07017v2, appendix A.1), with their encoder.

    The decoder repeats the code at every pixel, adds the coordinates of the pixel, from -1 to 1, as two channels, and
    applies convolutions (3 x 3, stride 1) with ReLU between. All maps have full size, so this decoder is many times
    slower than transposed convolutions. The encoder is `Conv(channels, hidden)`.
    """

    channels: tuple[int, ...] = (64, 64, 64, 64)
    """Output channels of the encoder's convolutions, which halve the image."""
    hidden: int = 256
    """Units of the encoder's fully connected layer."""
    decoder_channels: tuple[int, ...] = (64, 64)
    """Output channels of the decoder's convolutions."""

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        check_size("SpatialBroadcast", image_shape)
        return Conv(self.channels, self.hidden).make_encoder(image_shape, latents)

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        check_size("SpatialBroadcast", image_shape)
        num_channels, height, width = image_shape
        layers: list[nn.Module] = [_Broadcast(height, width)]
        fan_in = num_inputs + 2
        for fan_out in self.decoder_channels:
            layers += [nn.Conv2d(fan_in, fan_out, kernel_size=3, padding=1), nn.ReLU()]
            fan_in = fan_out
        return nn.Sequential(*layers, nn.Conv2d(fan_in, num_channels, kernel_size=3, padding=1))


@final
class _Broadcast(nn.Module):
    """Layer that repeats the code at every pixel and appends the row and column of the pixel, from -1 to 1."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width = height, width

    def forward(self, z: Float[Tensor, "batch input"]) -> Float[Tensor, "batch channel height width"]:
        rows, columns = (
            torch.linspace(-1, 1, size, dtype=z.dtype, device=z.device) for size in (self.height, self.width)
        )
        shape = (z.shape[0], 1, self.height, self.width)
        return torch.cat(
            [
                z[:, :, None, None].expand(-1, -1, self.height, self.width),
                rows[:, None].expand(shape),
                columns.expand(shape),
            ],
            dim=1,
        )
