"""dSprites, drawn: white squares, ellipses and hearts in every scale, orientation and position."""

import difflib
import itertools
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import ClassVar, final

import numpy as np
from jaxtyping import Float64, UInt64

from unbraid._internal import files
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, grid_rows
from unbraid.datasets.image_store import ImageStore, Plan
from unbraid.datasets.synthetic import official_dsprites, sprites
from unbraid.errors import SpecError

# Part of the name of a cached file. Raise it when a change here or in sprites.py changes a pixel.
_DRAWING_VERSION = 1
_MIN_RESOLUTION = 8
# Fifty gigabytes of bits at full resolution: more is a slip of the keyboard.
_MAX_IMAGES = 100_000_000
_IMAGES_PER_BLOCK = 4096


@final
@dataclass(frozen=True)
class DSprites(FactorDataset):
    """The 737,280 images of dSprites (Matthey et al., 2017, github.com/google-deepmind/dsprites-dataset), or another
    grid of the kind.

    Every combination of the factors occurs once, `position_y` changing fastest. Orientations run from 0 to 2 pi with
    both ends, as in the original: the first and the last look alike. A single scale is 1, a single orientation 0, a
    single position the middle. `resolution` scales the geometry with the image. With `root` the official file (or the
    folder that holds it) is read instead, and the grid must be the default.

    Examples:
        >>> hearts = DSprites(resolution=32, shapes=("heart",), num_orientations=1, num_positions=4)
        >>> hearts.num_images
        96
        >>> images = hearts.load()
        >>> images[0][0].shape
        torch.Size([1, 32, 32])
        >>> [factor.name for factor in hearts.factors]
        ['shape', 'scale', 'orientation', 'position_x', 'position_y']
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

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_whole(
            "resolution", self.resolution, _MIN_RESOLUTION, sprites.MAX_RESOLUTION, "a row of pixels is one 64-bit word"
        )
        for name in ("num_scales", "num_orientations", "num_positions"):
            _check_whole(name, getattr(self, name), 1, None, "the number of values on an axis")
        _check_shapes(self.shapes)
        if self.num_images > _MAX_IMAGES:
            raise SpecError(
                f"DSprites: this grid has {self.num_images:,} images; at most {_MAX_IMAGES:,} are drawn. Take fewer "
                "values on an axis."
            )
        if self.root == "":
            raise SpecError("DSprites: root is empty; name a folder, or leave it out.")
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

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns all images, 0 or 255 a pixel, as bits: drawn, or converted from `root`, once, and kept in cache."""
        if self.root is not None:
            return official_dsprites.open_official(self.root, self.image_shape, self.factors, verify=verify)
        return self.store.ensure(self._plan, "drawing dSprites", verify=verify)

    @property
    def store(self) -> ImageStore:
        """Returns where the images are kept once they are drawn."""
        name = f"{'-'.join(self.shapes)}_scales{self.num_scales}_orientations{self.num_orientations}"
        name += f"_positions{self.num_positions}_{self.resolution}px_v{_DRAWING_VERSION}"
        return ImageStore(files.cache_folder() / "dsprites" / name)

    def _plan(self) -> Plan:
        return Plan(self.image_shape, self.factors, grid_rows(self.factors), self._blocks, "bits")

    def draw_one(self, image: int) -> UInt64[np.ndarray, " row"]:
        """Draws one image now: the same bits as those that `open` keeps."""
        shape, scale, orientation, x, y = np.unravel_index(image, self._grid_shape)
        vertices = sprites.outline(self.shapes[shape], self.resolution) * self._scales()[scale]
        centers = self._centers()
        return sprites.draw(vertices, float(self._angles()[orientation]), centers[[x]], centers[[y]], self.resolution)[
            0, 0
        ]

    def _blocks(self, start: int) -> Iterator[UInt64[np.ndarray, "block row"]]:
        """Yields the images from number `start` on, in order; a block is one shape, scale and orientation, or a part of
        it.
        """
        centers = self._centers()
        num_parts = -(-self.num_positions // max(1, _IMAGES_PER_BLOCK // self.num_positions))
        parts = np.array_split(centers, num_parts)
        for shape, scale, angle, centers_x in itertools.product(self.shapes, self._scales(), self._angles(), parts):
            num_images = len(centers_x) * len(centers)
            if start < num_images:
                vertices = sprites.outline(shape, self.resolution) * scale
                block = sprites.draw(vertices, float(angle), centers_x, centers, self.resolution)
                yield block.reshape(-1, self.resolution)[start:]
            start = max(0, start - num_images)

    @property
    def _grid_shape(self) -> tuple[int, ...]:
        return tuple(factor.size for factor in self.factors)

    def _scales(self) -> Float64[np.ndarray, " scale"]:
        return np.linspace(0.5, 1.0, self.num_scales) if self.num_scales > 1 else np.ones(1)

    def _angles(self) -> Float64[np.ndarray, " orientation"]:
        return np.linspace(0.0, 2 * np.pi, self.num_orientations)

    def _centers(self) -> Float64[np.ndarray, " position"]:
        positions = np.linspace(0.0, 1.0, self.num_positions) if self.num_positions > 1 else np.full(1, 0.5)
        return self.resolution / 64 * (16 + 32 * positions)


def _check_whole(name: str, value: int, least: int, most: int | None, why: str) -> None:
    if value < least or (most is not None and value > most):
        expected = f"from {least} to {most}" if most is not None else f"of at least {least}"
        raise SpecError(f"DSprites: {name} is {value!r}; give a whole number {expected} ({why}).")


def _check_shapes(shapes: tuple[str, ...]) -> None:
    known = ", ".join(sprites.SHAPES)
    if not shapes:
        raise SpecError(f"DSprites: shapes is empty; give one or more of {known}.")
    for shape in shapes:
        if shape not in sprites.SHAPES:
            near = difflib.get_close_matches(str(shape), sprites.SHAPES, n=1)
            raise SpecError(
                f"DSprites: {shape!r} is not a shape; {f'did you mean {near[0]!r}? Known' if near else 'known'} are "
                f"{known}."
            )
    if len(set(shapes)) < len(shapes):
        raise SpecError(f"DSprites: shapes is {shapes}, which names a shape twice; give each once.")


def _check_default_grid(config: DSprites) -> None:
    changed = [
        field.name
        for field in fields(config)
        if field.default is not MISSING and getattr(config, field.name) != field.default
    ]
    changed.remove("root")
    if changed:
        raise SpecError(
            f"DSprites: the official file has one grid, so root cannot be combined with {', '.join(changed)}. "
            "Leave them out, or leave root out to have the images drawn."
        )
