"""dSprites: white squares, ellipses and hearts in every scale, orientation and position, drawn instead of downloaded."""

import difflib
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import ClassVar, final

import numpy as np
import torch
from jaxtyping import Float64, Int64, UInt8, UInt64
from torch import Tensor

from unbraid import files
from unbraid.data import sprites
from unbraid.data.bitmaps import BitmapCache, unpack
from unbraid.data.dataset import Factor, FactorDataset, FactorImages
from unbraid.data.npz import Npz
from unbraid.errors import DataError, SpecError

OFFICIAL_FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"

# Part of the name of a cached file. Raise it when a change here or in sprites.py changes a pixel.
_DRAWING_VERSION = 1
_MIN_RESOLUTION = 8
# Fifty gigabytes of bits at full resolution: more is a slip of the keyboard.
_MAX_IMAGES = 100_000_000
_IMAGES_PER_BLOCK = 4096
_FETCH = f"Fetch {OFFICIAL_FILE} again from github.com/google-deepmind/dsprites-dataset, or leave root out to have the images drawn."


@final
@dataclass(frozen=True)
class DSprites(FactorDataset):
    """The 737,280 images of dSprites (Matthey et al., 2017, github.com/google-deepmind/dsprites-dataset), or another grid of the kind.

    Every combination of the factors occurs once, `position_y` changing fastest. Orientations run from 0 to 2 pi with both ends, as in the
    original: the first and the last look alike. A single scale is 1, a single orientation 0, a single position the middle. `resolution`
    scales the geometry with the image. With `root` the official file (or the folder that holds it) is read instead, and the grid must be
    the default.
    """

    origin: ClassVar = "drawn"

    resolution: int = 64
    shapes: tuple[str, ...] = sprites.SHAPES
    num_scales: int = 6
    num_orientations: int = 40
    num_positions: int = 32
    root: str | None = None

    def __post_init__(self) -> None:
        _check_whole("resolution", self.resolution, _MIN_RESOLUTION, sprites.MAX_RESOLUTION, "a row of pixels is one 64-bit word")
        for name in ("num_scales", "num_orientations", "num_positions"):
            _check_whole(name, getattr(self, name), 1, None, "the number of values on an axis")
        _check_shapes(self.shapes)
        if self.num_images > _MAX_IMAGES:
            raise SpecError(
                f"DSprites: this grid has {self.num_images:,} images; at most {_MAX_IMAGES:,} are drawn. Take fewer values on an axis."
            )
        if self.root is not None:
            _check_default_grid(self)
            object.__setattr__(self, "root", files.absolute(self.root))

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (
            Factor("shape", len(self.shapes), ordered=False),
            Factor("scale", self.num_scales),
            Factor("orientation", self.num_orientations),
            Factor("position_x", self.num_positions),
            Factor("position_y", self.num_positions),
        )

    @property
    def num_images(self) -> int:
        return int(np.prod(self._grid_shape, dtype=object))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, self.resolution, self.resolution)

    def load(self, device: torch.device | str = "cpu") -> FactorImages:
        """All images, 0 or 255 a pixel: read from `root`, or drawn once and kept in the cache, whose checksum is verified."""
        if self.root is not None:
            pixels, factors = read_official(_official_path(self.root), self)
            return FactorImages(torch.from_numpy(pixels).to(device), torch.from_numpy(factors).to(device), self.factors)
        return FactorImages(unpack(self.bits(verify=True), self.resolution, device), self._factor_rows().to(device), self.factors)

    def bits(self, *, verify: bool = False) -> UInt64[np.ndarray, "image row"]:
        """The drawn images as bits (bit c of a word is column c), memory-mapped from the cache; drawn first where it has none.

        `verify` takes the SHA-256 of the whole file and not only a look at its header and a few images.
        """
        if self.root is not None:
            raise SpecError(f"bits() are the drawn images, but this DSprites reads root={self.root!r}. Leave root out, or call load().")
        name = f"{'-'.join(self.shapes)}_scales{self.num_scales}_orientations{self.num_orientations}_positions{self.num_positions}"
        path = files.cache_folder() / "dsprites" / f"{name}_{self.resolution}px_v{_DRAWING_VERSION}.npy"
        return BitmapCache(path, self.num_images, self.resolution, self._draw_all, self.draw_one).open(verify=verify)

    def draw_one(self, image: int) -> UInt64[np.ndarray, " row"]:
        """One image, drawn now: the same bits as `bits()[image]`."""
        shape, scale, orientation, x, y = np.unravel_index(image, self._grid_shape)
        vertices = sprites.outline(self.shapes[shape], self.resolution) * self._scales()[scale]
        centres = self._centres()
        return sprites.draw(vertices, float(self._angles()[orientation]), centres[[x]], centres[[y]], self.resolution)[0, 0]

    def _draw_all(self) -> Iterator[UInt64[np.ndarray, "block row"]]:
        centres = self._centres()
        columns_of_images = np.array_split(centres, -(-self.num_positions // max(1, _IMAGES_PER_BLOCK // self.num_positions)))
        for shape in self.shapes:
            vertices = sprites.outline(shape, self.resolution)
            for scale in self._scales():
                for angle in self._angles().tolist():
                    for centres_x in columns_of_images:
                        yield sprites.draw(vertices * scale, angle, centres_x, centres, self.resolution).reshape(-1, self.resolution)

    @property
    def _grid_shape(self) -> tuple[int, ...]:
        return tuple(factor.size for factor in self.factors)

    def _scales(self) -> Float64[np.ndarray, " scale"]:
        return np.linspace(0.5, 1.0, self.num_scales) if self.num_scales > 1 else np.ones(1)

    def _angles(self) -> Float64[np.ndarray, " orientation"]:
        return np.linspace(0.0, 2 * np.pi, self.num_orientations)

    def _centres(self) -> Float64[np.ndarray, " position"]:
        positions = np.linspace(0.0, 1.0, self.num_positions) if self.num_positions > 1 else np.full(1, 0.5)
        return self.resolution / 64 * (16 + 32 * positions)

    def _factor_rows(self) -> Int64[Tensor, "image factor"]:
        return torch.cartesian_prod(*(torch.arange(size) for size in self._grid_shape))


def read_official(path: Path, recipe: DSprites) -> tuple[UInt8[np.ndarray, "image 1 height width"], Int64[np.ndarray, "image factor"]]:
    """Pixels (0 or 255) and factors of the file that the authors published, checked against the grid of the recipe.

    The file also holds a pickled `metadata`, which is never touched.
    """
    npz = Npz(path)
    num_images = recipe.num_images
    for name, shape in (("imgs", (num_images, recipe.resolution, recipe.resolution)), ("latents_classes", (num_images, 6))):
        header = npz.header(name)
        if header.shape != shape or not np.issubdtype(header.dtype, np.integer):
            raise DataError(f"{name!r} in {path} is {header.dtype} of shape {header.shape}; expected integers of shape {shape}. {_FETCH}")
    # The first column is the colour, which is always white.
    factors = npz.read("latents_classes")[:, 1:].astype(np.int64)
    if not np.array_equal(factors, recipe._factor_rows().numpy()):
        raise DataError(f"'latents_classes' in {path} does not list every combination of the factors in order. {_FETCH}")
    images = npz.read("imgs")
    if images.dtype != np.uint8 or images.max() > 1:
        raise DataError(f"'imgs' in {path} holds {images.dtype} up to {images.max()}; dSprites has uint8 of 0 and 1. {_FETCH}")
    images *= 255
    return images[:, None], factors


def _official_path(root: str) -> Path:
    path = Path(root) / OFFICIAL_FILE if Path(root).is_dir() else Path(root)
    if not path.is_file():
        raise DataError(f"DSprites(root={root!r}): there is no file {path}. Name the folder that holds {OFFICIAL_FILE}, or leave root out.")
    return path


def _check_whole(name: str, value: object, least: int, most: int | None, why: str) -> None:
    # type, not isinstance: True is an int too.
    if type(value) is not int or value < least or (most is not None and value > most):
        expected = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise SpecError(f"DSprites: {name} is {value!r}; give a whole number {expected} ({why}).")


def _check_shapes(shapes: tuple[str, ...]) -> None:
    known = ", ".join(sprites.SHAPES)
    if not shapes:
        raise SpecError(f"DSprites: shapes is empty; give one or more of {known}.")
    for shape in shapes:
        if shape not in sprites.SHAPES:
            near = difflib.get_close_matches(str(shape), sprites.SHAPES, n=1)
            raise SpecError(f"DSprites: {shape!r} is not a shape; {f'did you mean {near[0]!r}? Known' if near else 'known'} are {known}.")
    if len(set(shapes)) < len(shapes):
        raise SpecError(f"DSprites: shapes is {shapes}, which names a shape twice; give each once.")


def _check_default_grid(recipe: DSprites) -> None:
    changed = [field.name for field in fields(recipe) if field.default is not MISSING and getattr(recipe, field.name) != field.default]
    changed.remove("root")
    if changed:
        raise SpecError(
            f"DSprites: the official file has one grid, so root cannot be combined with {', '.join(changed)}. "
            "Leave them out, or leave root out to have the images drawn."
        )
