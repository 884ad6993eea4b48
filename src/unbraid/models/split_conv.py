"""Convolutional nets whose encoder has a separate branch for each latent."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from unbraid.models.architecture import ImageShape
from unbraid.models.conv import Conv
from unbraid.models.distributions.posteriors.latents import Latents
from unbraid.models.layers.convolutions import ConvNet, halving
from unbraid.models.layers.heads import heads
from unbraid.models.layers.strided_convolutions import Conv2d


@dataclass(frozen=True)
class SplitConv(ConvNet):
    """Split encoder of an anonymous paper submitted to ICLR 2020.

    *An Information Theoretic Perspective on Disentangled Representation Learning*. The encoder has a trunk and a branch
    for each latent. The trunk has all convolutions of `Conv` except the last. A branch has the last convolution, a
    layer of `branch_width` units, and a linear layer that outputs the parameters of its latent. Branches share no
    weights. The paper gives no widths; the defaults equal `Conv(hidden=256)`, the baseline. The decoder is the
    decoder of `Conv` with `hidden` units.
    """

    channels: tuple[int, ...] = (32, 32, 64, 64)
    """Output channels of the convolutions; each branch has a separate last convolution."""
    branch_width: int = 256
    """Units of the hidden layer of each branch."""
    hidden: int = 256
    """Units of the decoder's fully connected layer."""

    least_channels: ClassVar[int] = 2

    def make_encoder(self, image_shape: ImageShape, latents: Latents) -> nn.Module:
        canvas = self.canvas(image_shape)
        *trunk, last = canvas.widths
        return nn.Sequential(
            *canvas.frame(),
            *halving((canvas.num_channels, *trunk)),
            _Branches(trunk[-1], last, canvas.map_area, self.branch_width, latents),
        )

    def make_decoder(self, num_inputs: int, image_shape: ImageShape) -> nn.Module:
        return Conv(self.channels, self.hidden).make_decoder(num_inputs, image_shape)


@final
class _Branches(nn.Module):
    """Module that computes all branches together.

    All branches read the same map, so one convolution computes the channels of all branches. Stacked linear layers
    follow.
    """

    def __init__(self, fan_in: int, channels: int, map_area: int, width: int, latents: Latents) -> None:
        super().__init__()
        self.num_branches = latents.num_latents
        self.heads = heads(latents)
        self.convolution = Conv2d(fan_in, self.num_branches * channels)
        self.hidden = _LinearStack(self.num_branches, channels * map_area, width)
        self.outputs = nn.ModuleList(_LinearStack(head.num_latents, width, head.numbers_each) for head in self.heads)

    def forward(self, trunk: Float[Tensor, "batch channel height width"]) -> Float[Tensor, "batch parameter"]:
        maps = torch.relu(self.convolution(trunk))
        features = rearrange(
            maps, "batch (branch channel) height width -> branch batch (channel height width)", branch=self.num_branches
        )
        features = torch.relu(self.hidden(features))
        of_heads = features.split([head.num_latents for head in self.heads])
        outputs = [layer(each).transpose(0, 1) for layer, each in zip(self.outputs, of_heads, strict=True)]
        return torch.cat([head.in_order(each) for head, each in zip(self.heads, outputs, strict=True)], dim=1)


@final
class _LinearStack(nn.Module):
    """Separate linear layer for each branch, with the initial weights of `nn.Linear`."""

    def __init__(self, num_branches: int, fan_in: int, fan_out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(fan_in)
        self.weight = nn.Parameter(torch.empty(num_branches, fan_in, fan_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(num_branches, 1, fan_out).uniform_(-bound, bound))

    def forward(self, x: Float[Tensor, "branch batch feature"]) -> Float[Tensor, "branch batch output"]:
        return x @ self.weight + self.bias
