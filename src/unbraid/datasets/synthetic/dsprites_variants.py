"""Variants of dSprites in color. Random draws for image n depend only on (seed, n)."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import ClassVar, cast, final

import numpy as np
import torch
from jaxtyping import Int64, UInt8
from torch import Tensor

from unbraid._internal import draws, files
from unbraid.datasets import file_stamps, pictures
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, check_drawable
from unbraid.datasets.formats.archives import read_bounded
from unbraid.datasets.pixels import Pixels, Rows
from unbraid.datasets.synthetic import sprites
from unbraid.datasets.synthetic.dsprites import MAX_IMAGES, DSprites
from unbraid.errors import DataError, SpecError

# The size to which the original shrinks its picture.
_MAX_HEIGHT, _MAX_WIDTH = 274, 350
_OCTAVES = (64, 32, 16, 8)

Masks = UInt8[Tensor, "image 1 height width"]
Painted = UInt8[Tensor, "image 3 height width"]
Picture = UInt8[Tensor, "3 picture_height picture_width"]


@final
@dataclass(frozen=True)
class PaintedSprites(Pixels):
    """Black-and-white sprites, painted on indexing by a variant of dSprites."""

    masks: Masks | Pixels
    variant: "DSpritesVariant"
    picture: Picture | None

    @property
    def shape(self) -> torch.Size:
        num_images, _, height, width = self.masks.shape
        return torch.Size((num_images, 3, height, width))

    def __getitem__(self, rows: Rows) -> UInt8[Tensor, "..."]:
        if not isinstance(rows, Tensor):
            rows = torch.arange(len(self), device=self.device)[rows]
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
    """Height and width of the images, in pixels. Sprites are scaled proportionally."""
    shapes: tuple[str, ...] = sprites.SHAPES
    """Shapes of the sprites: any of square, ellipse, heart."""
    num_scales: int = 6
    """Number of scales, from 0.5 to 1."""
    num_orientations: int = 40
    """Number of orientations, from 0 to a full turn, both included."""
    num_positions: int = 32
    """Number of positions along each axis."""
    root: str | None = None
    """Path of the official file or its folder. If given, images are read instead of drawn."""
    seed: int = 0
    """Random seed of the colors and patches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_drawable(self, MAX_IMAGES, seed=(0, 2**63 - 1))
        object.__setattr__(self, "root", self.sprites.root)

    @property
    def sprites(self) -> DSprites:
        """Config of the same images in black and white."""
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
        """Returns the background picture, if any."""
        return None

    @abstractmethod
    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        """Returns the images of these rows in color. `masks` is 255 inside the sprite, else 0."""

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns all images: the sprites as bits from the cache of `DSprites`, painted on indexing."""
        picture = self.picture()  # first: its errors are raised before any sprite is drawn
        sprites = self.sprites.open(verify=verify)
        pixels = PaintedSprites(sprites.pixels, self, None if picture is None else torch.from_numpy(picture))
        return replace(sprites, pixels=pixels)


@final
@dataclass(frozen=True)
class ColorDSprites(DSpritesVariant):
    """dSprites, each sprite in a random color on black (Locatello et al., arXiv:1811.12359v4).

    The color is not a factor. Each channel is uniform over the integers from 128 to 255.
    """

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        colors = 128 + (random_bytes(self.seed, "colour-dsprites", rows, 3) >> 1)  # a stream of draws keeps its name
        # 255 has every bit set, and 0 none.
        return masks & colors[:, :, None, None]


@final
@dataclass(frozen=True)
class NoisyDSprites(DSpritesVariant):
    """dSprites, white sprites on uniform noise (Locatello et al., arXiv:1811.12359v4).

    Each channel of each background pixel is uniform over the integers from 0 to 255.
    """

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        shape = (3, *masks.shape[2:])
        # 255 has every bit set, and 0 none: white stays white, and black becomes noise.
        return masks | random_bytes(self.seed, "noisy-dsprites", rows, prod(shape)).unflatten(1, shape)


@final
@dataclass(frozen=True)
class BackgroundDSprites(DSpritesVariant):
    """dSprites on random patches of a picture, tinted with random colors (Locatello et al., arXiv:1811.12359v4).

    The sprite inverts the colors of its patch. The original uses Munch's The Scream. `background` is the path of a
    picture; by default the patches are cut from a smooth random texture. `background_sha256` is computed on
    construction if empty, and opening a picture that has changed since raises an error.
    """

    background: str | None = None
    """Path of the picture for the patches; None for a random texture."""
    background_sha256: str = ""
    """SHA-256 of the picture; computed on construction if empty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.background == "":
            raise SpecError("BackgroundDSprites: background is empty; name a picture, or leave it out.")
        if self.background is None and self.background_sha256:
            raise SpecError("BackgroundDSprites: background_sha256 is given without background; give both, or neither.")
        if self.background is not None:
            object.__setattr__(self, "background", files.absolute(self.background))
            sha256 = file_stamps.sha256_or_empty(self.background_sha256, Path(self.background), "BackgroundDSprites")
            object.__setattr__(self, "background_sha256", sha256)

    def picture(self) -> UInt8[np.ndarray, "3 height width"]:
        """Returns the picture of the patches, at most 350 pixels wide and 274 high."""
        if self.background is None:
            return texture(self.seed, "background-dsprites/texture", _MAX_HEIGHT, _MAX_WIDTH, _OCTAVES)
        from PIL import Image

        path = Path(self.background)
        content = read_bounded(path)
        file_stamps.check_expected(path, files.sha256(path), self.background_sha256 or "none")
        small = Image.fromarray(pictures.decode(content, str(path), 3))
        small.thumbnail((_MAX_WIDTH, _MAX_HEIGHT), Image.Resampling.BICUBIC, reducing_gap=None)
        if min(small.size) < self.resolution:
            raise DataError(
                f"The background {path} is {small.height} x {small.width} pixels once it fits into {_MAX_HEIGHT} x "
                f"{_MAX_WIDTH}; patches of {self.resolution} x {self.resolution} do not fit. Name a larger picture."
            )
        return np.ascontiguousarray(np.asarray(small).transpose(2, 0, 1))

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        patches = self._patches(cast(Tensor, picture), rows, *masks.shape[2:])
        colors = random_bytes(self.seed, "background-dsprites/colour", rows, 3)  # a stream of draws keeps its name
        # The mean, rounded up at a half; in 16 bits, because the sum has nine.
        tinted = ((patches.short() + colors[:, :, None, None].short() + 1) >> 1).to(torch.uint8)
        # The complement of a byte is 255 minus it.
        return tinted ^ masks

    def _patches(self, picture: Picture, rows: Int64[Tensor, " image"], height: int, width: int) -> Painted:
        """Returns a patch for each row, at a uniformly random position."""
        windows = picture.unfold(1, height, 1).unfold(2, width, 1).movedim(0, 2)
        places = torch.tensor(windows.shape[:2], device=rows.device)
        down, right = (
            (draws.uniform(torch.full_like(rows, self.seed), "background-dsprites/place", rows, (2,)) * places).long().T
        )
        return windows[down, right]


def texture(
    seed: int, stream: str, height: int, width: int, octaves: Sequence[int]
) -> UInt8[np.ndarray, "3 height width"]:
    """Returns a random texture for (seed, stream), rescaled to the range from 0 to 255.

    Before the rescaling, pixels do not depend on height and width.
    """
    # Each octave is in units of octave⁻⁶; in those of the widest all are whole.
    unit, total = max(octaves) ** 6, np.zeros((3, height, width), dtype=np.int64)
    for octave in octaves:
        num_rows, num_columns = -(-height // octave) + 1, -(-width // octave) + 1
        corners = random_bytes(seed, f"{stream}/{octave}", torch.arange(num_rows), 3 * num_columns)
        values = corners.reshape(num_rows, 3, num_columns).numpy().transpose(1, 0, 2).astype(np.int64)
        values = _interpolated(_interpolated(values, height, octave, axis=1), width, octave, axis=2)
        total += octave * values * (unit // octave**6)
    low, high = (edge(total, axis=(1, 2), keepdims=True) for edge in (np.min, np.max))
    return ((total - low) * 255 // np.maximum(high - low, 1)).astype(np.uint8)


def _interpolated(values: Int64[np.ndarray, "..."], length: int, octave: int, axis: int) -> Int64[np.ndarray, "..."]:
    """Interpolates along one axis, in units of octave⁻³."""
    square, t = np.divmod(np.arange(length), octave)
    weight = (t * t * (3 * octave - 2 * t)).reshape([-1 if axis == other else 1 for other in range(values.ndim)])
    return np.take(values, square, axis) * (octave**3 - weight) + np.take(values, square + 1, axis) * weight
