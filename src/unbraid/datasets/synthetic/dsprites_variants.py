"""Variants of dSprites in color: what is random in image n depends on (seed, n) alone."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, final

import torch
from jaxtyping import Int, Int64, UInt8
from torch import Tensor

from unbraid._internal import draws
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages
from unbraid.datasets.pixels import Pixels
from unbraid.datasets.synthetic import sprites
from unbraid.datasets.synthetic.dsprites import DSprites
from unbraid.errors import SpecError


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


@dataclass(frozen=True)
class DSpritesVariant(FactorDataset):
    """dSprites in color. All fields but `seed` are those of `DSprites`; what is random in image n is drawn from (seed,
    n).
    """

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
        if not 0 <= self.seed < 2**63:
            raise SpecError(f"{type(self).__name__}: seed is {self.seed!r}; give a whole number from 0 to 2**63 - 1.")
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

    @abstractmethod
    def paint(self) -> Paint:
        """Returns the paint, which makes the difference."""

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns all images: the sprites as bits, from the cache of `DSprites`, painted when they are asked for."""
        paint = self.paint()  # first: what is wrong with it shows before any sprite is drawn
        sprites = self.sprites.open(verify=verify)
        return replace(sprites, pixels=PaintedSprites(sprites.pixels, paint))


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
