"""dSprites: white squares, ellipses and hearts at every scale, orientation and position."""

import itertools
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, final

import numpy as np
from jaxtyping import Float64

from unbraid._internal import files
from unbraid._internal.names import suggestion
from unbraid._internal.npz import Npz
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, check_drawable, check_names, grid_rows
from unbraid.datasets.fetching import verification
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import Blocks, ImageStore, Plan
from unbraid.datasets.pixels import packed
from unbraid.datasets.synthetic import sprites
from unbraid.errors import DataError, SpecError

# Versions in the names of cached files. Increase one when a change here or in sprites.py changes a pixel.
_DRAWING_VERSION = _CONVERTER_VERSION = 1
_MIN_RESOLUTION = 8
# Limit of 50 GB of packed bits at full resolution. A larger grid is probably a typing error.
MAX_IMAGES = 100_000_000
_IMAGES_PER_BLOCK = 4096

OFFICIAL_FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
PUBLICATION = Publication(
    title="dSprites: Disentanglement testing Sprites dataset",
    homepage="https://github.com/google-deepmind/dsprites-dataset",
    license="Apache-2.0",
    license_note="The images are drawn without the official file, which is only read if root is given.",
    files=(
        PublishedFile(
            OFFICIAL_FILE,
            f"https://github.com/google-deepmind/dsprites-dataset/raw/master/{OFFICIAL_FILE}",
            checksum="md5:7da33b31b13a06f4b04a70402ce90c2e",
            checksum_source="latte-metrics and other libraries that download this file",
        ),
    ),
    subfolders=("dsprites",),
)


@final
@dataclass(frozen=True)
class DSprites(FactorDataset):
    """dSprites: 737,280 black-and-white images (Matthey et al., 2017), or another grid of the same factors.

    The original is at github.com/google-deepmind/dsprites-dataset. Every combination of factor values occurs once, and
    `position_y` changes fastest. Orientations range from 0 to 2 pi, both included, so that the first and the last
    orientation are equal, as in the original. A single scale is 1, a single orientation 0, and a single position the
    center. With `root` the official file is read instead, which requires the default grid.

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

    def __post_init__(self) -> None:
        super().__post_init__()
        for shape in self.shapes:
            if shape not in sprites.SHAPES:
                raise SpecError(f"DSprites: unknown shape {shape!r}. {suggestion(str(shape), sprites.SHAPES)}")
        check_names(self.shapes, "DSprites", "shapes")
        check_drawable(
            self,
            MAX_IMAGES,
            resolution=(_MIN_RESOLUTION, sprites.MAX_RESOLUTION),
            num_scales=(1, MAX_IMAGES),
            num_orientations=(1, MAX_IMAGES),
            num_positions=(1, MAX_IMAGES),
        )
        if self.root == "":
            raise SpecError("DSprites: root is ''; expected the path of a folder. Give a path, or omit root.")
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
        """Returns all images as packed bits from the cache. Draws or converts the images first if necessary."""
        if self.root is not None:
            return open_official(self.root, self.image_shape, self.factors, verify=verify)
        return self.store.ensure(self._plan, "drawing dSprites", verify=verify)

    @property
    def store(self) -> ImageStore:
        """Store of the drawn images."""
        name = f"{'-'.join(self.shapes)}_scales{self.num_scales}_orientations{self.num_orientations}"
        name += f"_positions{self.num_positions}_{self.resolution}px_v{_DRAWING_VERSION}"
        return ImageStore(files.cache_folder() / "dsprites" / name)

    def _plan(self) -> Plan:
        return Plan(self.image_shape, self.factors, grid_rows(self.factors), self._blocks, "bits")

    def _blocks(self, start: int) -> Blocks:
        """Yields the images from number `start` on. Each block has one shape, scale and orientation."""
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


def _check_default_grid(config: DSprites) -> None:
    changed = [
        each.name for each in fields(config) if each.name != "root" and getattr(config, each.name) != each.default
    ]
    if changed:
        raise SpecError(f"DSprites: got root and {', '.join(changed)}; expected the default grid with root. Omit one.")


def open_official(
    root: str, image_shape: tuple[int, int, int], factors: tuple[Factor, ...], *, verify: bool
) -> FactorImages:
    """Returns the images of the official file as packed bits, cached under the checksum of the file.

    The file is an `.npz` of 27 MB with 3 GB of images, decompressed in blocks. The pickled `metadata` is not read.
    """
    folders = (Path(root), *(Path(root) / folder for folder in PUBLICATION.subfolders))
    places = [Path(root), *(folder / OFFICIAL_FILE for folder in folders)]
    if (path := next((place for place in places if place.is_file()), None)) is None:
        raise DataError(f"DSprites(root={root!r}): there is no file {places[1]}. Set root to its folder, or omit root.")
    try:
        stamp, sha256 = file_stamps.stamp(path), files.sha256(path)
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error}). Make the file readable, or omit root."
        ) from error

    def plan() -> Plan:
        verification.check_file(path, PUBLICATION.files[0])
        return Plan(image_shape, factors, grid_rows(factors), blocks, "bits")

    def blocks(start: int) -> Blocks:
        for images in Npz(path).blocks("imgs", _IMAGES_PER_BLOCK, start):
            yield packed(images)
        file_stamps.check_unchanged([path], [stamp])

    store = ImageStore(files.cache_folder() / "dsprites" / f"official-{sha256[:16]}_v{_CONVERTER_VERSION}")
    return store.ensure(plan, "converting dSprites", verify=verify)
