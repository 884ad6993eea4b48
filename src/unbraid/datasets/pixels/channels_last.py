"""Images whose channels are the last axis, as most libraries keep them."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from unbraid.datasets.pixels.pixels import Pixels


@final
@dataclass(frozen=True)
class ChannelsLast(Pixels):
    """Turns images when they are asked for, so that what is memory-mapped stays so. They also lie turned in memory:
    nets compute the same.
    """

    images: UInt8[Tensor, "image height width channel"]

    @property
    def shape(self) -> torch.Size:
        num_images, height, width, channels = self.images.shape
        return torch.Size((num_images, channels, height, width))

    @property
    def device(self) -> torch.device:
        return self.images.device

    @property
    def nbytes(self) -> int:
        return self.images.nbytes

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."]:
        return self.images[rows].movedim(-1, -3).contiguous()

    def to(self, device: torch.device | str) -> "ChannelsLast":
        return ChannelsLast(self.images.to(device))
