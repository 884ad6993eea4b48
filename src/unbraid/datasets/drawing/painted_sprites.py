"""Sprites in color, painted when they are asked for: as bytes the whole set would take nine gigabytes, as bits and a
config it takes 377 MB.

What is random about an image is drawn from (seed, number of the image) alone, so image n is the same in every batch, on
every device and in every run. All of it is arithmetic with whole numbers.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Int, Int64, UInt8
from torch import Tensor

from unbraid._internal import draws
from unbraid.datasets.pixels.pixels import Pixels


class Paint(ABC):
    """Turns black and white into color."""

    @abstractmethod
    def __call__(
        self, masks: UInt8[Tensor, "image 1 height width"], rows: Int64[Tensor, " image"]
    ) -> UInt8[Tensor, "image 3 height width"]:
        """Returns the images of these rows, given their sprites: 255 where the sprite is, else 0."""

    @abstractmethod
    def to(self, device: torch.device | str) -> "Paint": ...

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Returns what it takes to keep it, in bytes."""


@final
@dataclass(frozen=True)
class PaintedSprites(Pixels):
    """Holds sprites in black and white, as bits if they are many, and the paint for them."""

    masks: UInt8[Tensor, "image 1 height width"] | Pixels
    paint: Paint

    @property
    def shape(self) -> torch.Size:
        num_images, _, height, width = self.masks.shape
        return torch.Size((num_images, 3, height, width))

    @property
    def device(self) -> torch.device:
        return self.masks.device

    @property
    def nbytes(self) -> int:
        return self.masks.nbytes + self.paint.nbytes

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."]:
        if isinstance(rows, slice):
            rows = torch.arange(*rows.indices(len(self)), device=self.device)
        flat = rows.flatten().long()
        # Counted from the end, a row is still the same image.
        flat = torch.where(flat < 0, flat + len(self), flat)
        return self.paint(self.masks[flat], flat).reshape(*rows.shape, *self.shape[1:])

    def to(self, device: torch.device | str) -> "PaintedSprites":
        return replace(self, masks=self.masks.to(device), paint=self.paint.to(device))


def random_bytes(
    seed: int, stream: str, rows: Int64[Tensor, " image"], num_bytes: int
) -> UInt8[Tensor, "image {num_bytes}"]:
    """Returns bytes that are uniform from 0 to 255, and depend on (seed, stream, row, position) alone."""
    words = draws.bits(torch.full_like(rows, seed), stream, rows, (-(-num_bytes // 8),))
    return words.view(torch.uint8)[:, :num_bytes]
