"""Variants of dSprites in color. Random draws for image n depend only on (seed, n)."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, final

import numpy as np
import torch
from jaxtyping import Int, Int64, UInt8
from torch import Tensor

from unbraid._internal import draws
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, check_drawable
from unbraid.datasets.pixels import Pixels
from unbraid.datasets.synthetic import sprites
from unbraid.datasets.synthetic.dsprites import MAX_IMAGES, DSprites

Masks = UInt8[Tensor, "image 1 height width"]
Painted = UInt8[Tensor, "image 3 height width"]
Picture = UInt8[Tensor, "3 picture_height picture_width"]


@final
@dataclass(frozen=True)
class PaintedSprites(Pixels):
    """Sprites in black and white, which a variant of dSprites paints when they are read."""

    masks: Masks | Pixels
    variant: "DSpritesVariant"
    picture: Picture | None

    @property
    def shape(self) -> torch.Size:
        num_images, _, height, width = self.masks.shape
        return torch.Size((num_images, 3, height, width))

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."]:
        if isinstance(rows, slice):
            rows = torch.arange(*rows.indices(len(self)), device=self.device)
        flat = rows.flatten().long()
        # Counted from the end, a row is still the same image.
        flat = torch.where(flat < 0, flat + len(self), flat)
        images = self.variant.paint(self.masks[flat], flat, self.picture)
        return images.reshape(*rows.shape, *self.shape[1:])


def random_bytes(
    seed: int, stream: str, rows: Int64[Tensor, " image"], num_bytes: int
) -> UInt8[Tensor, "image {num_bytes}"]:
    """Returns uniform bytes that depend only on (seed, stream, row, position)."""
    words = draws.bits(torch.full_like(rows, seed), stream, rows, (-(-num_bytes // 8),))
    return words.view(torch.uint8)[:, :num_bytes]


@dataclass(frozen=True)
class DSpritesVariant(FactorDataset):
    """dSprites in color. All fields but `seed` are those of `DSprites`."""

    origin: ClassVar = "drawn"

    resolution: int = 64
    """Height and width of the images, in pixels; the sprites are scaled with them."""
    shapes: tuple[str, ...] = sprites.SHAPES
    """Which shapes: square, ellipse, heart."""
    num_scales: int = 6
    """How many sizes, from half to full."""
    num_orientations: int = 40
    """How many angles, from 0 to a full turn with both ends."""
    num_positions: int = 32
    """How many places in either direction."""
    root: str | None = None
    """The official file, or its folder, to be read instead of drawing."""
    seed: int = 0
    """Where the colors and patches of all images start."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_drawable(self, MAX_IMAGES, seed=(0, 2**63 - 1))
        object.__setattr__(self, "root", self.sprites.root)

    @property
    def sprites(self) -> DSprites:
        """Returns the same images in black and white."""
        return DSprites(
            self.resolution, self.shapes, self.num_scales, self.num_orientations, self.num_positions, self.root
        )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return self.sprites.factors

    @property
    def num_images(self) -> int:
        return self.sprites.num_images

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, self.resolution, self.resolution)

    def picture(self) -> UInt8[np.ndarray, "3 height width"] | None:
        """Returns the picture that the images are painted with, if there is one."""
        return None

    @abstractmethod
    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        """Returns the images of these rows in color. Their masks are 255 inside the sprite, else 0."""

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns all images: the sprites as bits, from the cache of `DSprites`, painted when they are read."""
        picture = self.picture()  # first: its errors are raised before any sprite is drawn
        sprites = self.sprites.open(verify=verify)
        pixels = PaintedSprites(sprites.pixels, self, None if picture is None else torch.from_numpy(picture))
        return replace(sprites, pixels=pixels)


@final
@dataclass(frozen=True)
class ColorDSprites(DSpritesVariant):
    """dSprites, each sprite in a random color on black (Locatello et al., arXiv:1811.12359v4).

    A color is three numbers from 128 to 255, each equally likely. It is not a factor.
    """

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        colors = 128 + (random_bytes(self.seed, "colour-dsprites", rows, 3) >> 1)  # a stream of draws keeps its name
        # 255 has every bit set, and 0 none.
        return masks & colors[:, :, None, None]


@final
@dataclass(frozen=True)
class NoisyDSprites(DSpritesVariant):
    """dSprites, white sprites on uniform noise (Locatello et al., arXiv:1811.12359v4).

    Around the sprite every pixel of every channel is a number from 0 to 255, each equally likely.
    """

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        shape = (3, *masks.shape[2:])
        # 255 has every bit set, and 0 none: white stays white, and black becomes noise.
        return masks | random_bytes(self.seed, "noisy-dsprites", rows, prod(shape)).unflatten(1, shape)
