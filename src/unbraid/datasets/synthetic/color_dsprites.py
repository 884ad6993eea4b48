"""Color dSprites: each sprite in a random color."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from unbraid.datasets.drawing.painted_sprites import Paint, random_bytes
from unbraid.datasets.synthetic.dsprites_variant import DSpritesVariant


@final
@dataclass(frozen=True)
class ColorDSprites(DSpritesVariant):
    """dSprites, each sprite in a random color on black (Locatello et al., arXiv:1811.12359v4).

    A color is three numbers from 128 to 255, each as likely as any other. It is no factor: nothing tells it but the
    image.
    """

    def paint(self) -> Paint:
        return _Colors(self.seed)


@final
@dataclass(frozen=True)
class _Colors(Paint):
    seed: int

    def __call__(
        self, masks: UInt8[Tensor, "image 1 height width"], rows: Int64[Tensor, " image"]
    ) -> UInt8[Tensor, "image 3 height width"]:
        colors = 128 + (random_bytes(self.seed, "colour-dsprites", rows, 3) >> 1)  # a stream of draws keeps its name
        # 255 has every bit set, and 0 none.
        return masks & colors[:, :, None, None]

    def to(self, device: torch.device | str) -> "_Colors":
        del device
        return self

    @property
    def nbytes(self) -> int:
        return 0
