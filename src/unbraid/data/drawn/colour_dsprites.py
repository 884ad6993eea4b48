"""Colour dSprites: each sprite in a colour of its own."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from unbraid.data.drawing.painted_sprites import Paint, random_bytes
from unbraid.data.drawn.dsprites_variant import DSpritesVariant


@final
@dataclass(frozen=True)
class ColourDSprites(DSpritesVariant):
    """dSprites, each sprite in a random colour on black (Locatello et al., arXiv:1811.12359v4).

    A colour is three numbers from 128 to 255, each as likely as any other. It is no factor: nothing tells it but the
    image.
    """

    def paint(self) -> Paint:
        return _Colours(self.seed)


@final
@dataclass(frozen=True)
class _Colours(Paint):
    seed: int

    def __call__(
        self, masks: UInt8[Tensor, "image 1 height width"], rows: Int64[Tensor, " image"]
    ) -> UInt8[Tensor, "image 3 height width"]:
        colours = 128 + (random_bytes(self.seed, "colour-dsprites", rows, 3) >> 1)
        # 255 has every bit set, and 0 none.
        return masks & colours[:, :, None, None]

    def to(self, device: torch.device | str) -> "_Colours":
        del device
        return self

    @property
    def nbytes(self) -> int:
        return 0
