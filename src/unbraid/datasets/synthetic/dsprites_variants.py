"""Variants of dSprites in color. The random numbers of image n depend only on (seed, n)."""

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

# Size to which the original implementation resizes the background picture.
_MAX_HEIGHT, _MAX_WIDTH = 274, 350
_OCTAVES = (64, 32, 16, 8)

Masks = UInt8[Tensor, "image 1 height width"]
Painted = UInt8[Tensor, "image 3 height width"]
Picture = UInt8[Tensor, "3 picture_height picture_width"]


@final
@dataclass(frozen=True)
class PaintedSprites(Pixels):
    """Pixels of a variant of dSprites: black-and-white sprites that are colored on indexing."""

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
        # Negative row numbers count from the end.
        flat = torch.where(flat < 0, flat + len(self), flat)
        images = self.variant.paint(self.masks[flat], flat, self.picture)
        return images.reshape(*rows.shape, *self.shape[1:])


def random_bytes(
    seed: int, stream: str, rows: Int64[Tensor, " image"], num_bytes: int
) -> UInt8[Tensor, "image {num_bytes}"]:
    """Returns uniform random bytes that depend only on (seed, stream, row, position)."""
    words = draws.bits(torch.full_like(rows, seed), stream, rows, (-(-num_bytes // 8),))
    return words.view(torch.uint8)[:, :num_bytes]


@dataclass(frozen=True)
class DSpritesVariant(FactorDataset):
    """Base class of variants of dSprites in color, with the fields of `DSprites` and a random seed."""

    origin: ClassVar = "drawn"

    resolution: int = 64
    """Height and width of the images, in pixels. Sprites are scaled proportionally."""
    shapes: tuple[str, ...] = sprites.SHAPES
    """Shapes of the sprites: any of square, ellipse, heart."""
    num_scales: int = 6
    """Number of scales from 0.5 to 1."""
    num_orientations: int = 40
    """Number of orientations from 0 to 2 pi, both included."""
    num_positions: int = 32
    """Number of positions along each axis."""
    root: str | None = None
    """Path of the official file or of its folder, to read images instead of drawing them."""
    seed: int = 0
    """Random seed of the colors and patches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_drawable(self, MAX_IMAGES, seed=(0, 2**63 - 1))
        object.__setattr__(self, "root", self.sprites.root)

    @property
    def sprites(self) -> DSprites:
        """Config of the same sprites in black and white."""
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
        """Colors the images of these rows. `masks` is 255 inside the sprite, else 0."""

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns all images. Indexing colors the sprites, which are packed bits from the cache of `DSprites`."""
        picture = self.picture()  # first, so that errors are raised before sprites are drawn
        sprites = self.sprites.open(verify=verify)
        pixels = PaintedSprites(sprites.pixels, self, None if picture is None else torch.from_numpy(picture))
        return replace(sprites, pixels=pixels)


@final
@dataclass(frozen=True)
class ColorDSprites(DSpritesVariant):
    """Color-dSprites: each sprite has a random color, on black (Locatello et al., arXiv:1811.12359v4).

    The color is not a factor. Each channel is uniform over the integers from 128 to 255.
    """

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        colors = 128 + (
            random_bytes(self.seed, "colour-dsprites", rows, 3) >> 1
        )  # the spelling is part of the random stream
        # In binary, 255 has every bit set, and 0 none.
        return masks & colors[:, :, None, None]


@final
@dataclass(frozen=True)
class NoisyDSprites(DSpritesVariant):
    """Noisy-dSprites: white sprites on uniform noise (Locatello et al., arXiv:1811.12359v4).

    Each channel of each background pixel is uniform over the integers from 0 to 255.
    """

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        shape = (3, *masks.shape[2:])
        # In binary, 255 has every bit set, and 0 none: white stays white, and black becomes noise.
        return masks | random_bytes(self.seed, "noisy-dsprites", rows, prod(shape)).unflatten(1, shape)


@final
@dataclass(frozen=True)
class BackgroundDSprites(DSpritesVariant):
    """Scream-dSprites: sprites on random, randomly tinted patches of a picture (Locatello et al., arXiv:1811.12359v4).

    Inside a sprite, the colors of the patch are inverted. The original uses The Scream by Munch. By default, the
    patches are cut from a smooth random texture. Opening a picture with another checksum than `background_sha256`
    raises an error.
    """

    background: str | None = None
    """Path of the picture for the patches, or None for a random texture."""
    background_sha256: str = ""
    """SHA-256 of the picture; computed on construction if empty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.background == "":
            raise SpecError("BackgroundDSprites: background is ''; expected a path. Give a path, or omit background.")
        if self.background is None and self.background_sha256:
            raise SpecError("BackgroundDSprites: got background_sha256 without background. Give both, or neither.")
        if self.background is not None:
            object.__setattr__(self, "background", files.absolute(self.background))
            sha256 = file_stamps.sha256_or_empty(self.background_sha256, Path(self.background), "BackgroundDSprites")
            object.__setattr__(self, "background_sha256", sha256)

    def picture(self) -> UInt8[np.ndarray, "3 height width"]:
        """Returns the picture for the patches, resized to at most 350 x 274 pixels (width x height)."""
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
                f"The background {path} is {small.height} x {small.width} pixels after resizing to {_MAX_HEIGHT} x "
                f"{_MAX_WIDTH}; expected {self.resolution} x {self.resolution} or more. Choose a larger picture."
            )
        return np.ascontiguousarray(np.asarray(small).transpose(2, 0, 1))

    def paint(self, masks: Masks, rows: Int64[Tensor, " image"], picture: Picture | None) -> Painted:
        patches = self._patches(cast(Tensor, picture), rows, *masks.shape[2:])
        colors = random_bytes(
            self.seed, "background-dsprites/colour", rows, 3
        )  # the spelling is part of the random stream
        # The mean, with halves rounded up. The sum needs nine bits, hence 16-bit integers.
        tinted = ((patches.short() + colors[:, :, None, None].short() + 1) >> 1).to(torch.uint8)
        # The bitwise complement of a byte x is 255 - x.
        return tinted ^ masks

    def _patches(self, picture: Picture, rows: Int64[Tensor, " image"], height: int, width: int) -> Painted:
        """Returns a patch for each row, from a uniformly random position in the picture."""
        windows = picture.unfold(1, height, 1).unfold(2, width, 1).movedim(0, 2)
        places = torch.tensor(windows.shape[:2], device=rows.device)
        down, right = (
            (draws.uniform(torch.full_like(rows, self.seed), "background-dsprites/place", rows, (2,)) * places).long().T
        )
        return windows[down, right]


def texture(
    seed: int, stream: str, height: int, width: int, octaves: Sequence[int]
) -> UInt8[np.ndarray, "3 height width"]:
    """Returns a random texture that depends on (seed, stream), with values rescaled to the range from 0 to 255.

    Before rescaling, a pixel does not depend on `height` and `width`.
    """
    # The units of an octave are octave⁻⁶. In the units of the widest octave, all values are integers.
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
