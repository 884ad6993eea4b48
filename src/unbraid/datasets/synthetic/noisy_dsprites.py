"""Noisy dSprites: white sprites on noise."""

from dataclasses import dataclass
from math import prod
from typing import final

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from unbraid.datasets.drawing.painted_sprites import Paint, random_bytes
from unbraid.datasets.synthetic.dsprites_variant import DSpritesVariant


@final
@dataclass(frozen=True)
class NoisyDSprites(DSpritesVariant):
    """dSprites, white sprites on uniform noise (Locatello et al., arXiv:1811.12359v4).

    Around the sprite every pixel of every channel is a number from 0 to 255, each as likely as any other.
    """

    def paint(self) -> Paint:
        return _Noise(self.seed)


@final
@dataclass(frozen=True)
class _Noise(Paint):
    seed: int

    def __call__(
        self, masks: UInt8[Tensor, "image 1 height width"], rows: Int64[Tensor, " image"]
    ) -> UInt8[Tensor, "image 3 height width"]:
        shape = (3, *masks.shape[2:])
        # 255 has every bit set, and 0 none: white stays white, and black becomes noise.
        return masks | random_bytes(self.seed, "noisy-dsprites", rows, prod(shape)).unflatten(1, shape)

    def to(self, device: torch.device | str) -> "_Noise":
        del device
        return self

    @property
    def nbytes(self) -> int:
        return 0
