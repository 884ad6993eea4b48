"""Shaded faces: heads of invented people, with the factors of the licensed 3D faces of Chen et al."""

import functools
import math
import threading
from dataclasses import asdict, dataclass
from typing import ClassVar, final

import numpy as np
from jaxtyping import UInt8
from torch import Tensor

from unbraid._internal import files
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, check_drawable, grid_rows
from unbraid.datasets.image_store import Blocks, ImageStore, Plan
from unbraid.datasets.synthetic import heads, shading

# Part of the name of the cache. Raise it when a change here, in heads.py or in shading.py changes a pixel.
_DRAWING_VERSION = 1
_DOING = "drawing ShadedFaces"
_MIN_RESOLUTION, _MAX_RESOLUTION = 16, 64
# An image a degree, from one side to the other.
_MAX_VALUES = 181
# Forty gigabytes at 64 pixels: more is a slip of the keyboard.
_MAX_IMAGES = 10_000_000

# How far a factor goes to either side of its middle.
_MAX_AZIMUTH, _MAX_LIGHTING = math.radians(90), math.radians(90)


@final
@dataclass(frozen=True)
class ShadedFaces(FactorDataset):
    """127,050 gray images of 50 invented people.

    A stand-in for the Basel face renders of Chen et al. (arXiv:1802.04942v5), which are under license. It has their
    factors in their order, `lighting` changing fastest, but none of their images or shapes: scores on it are not scores
    on the original. A head turns by 90 degrees to either side, is drawn from 30 degrees below to 30 above, and is lit
    by a lamp that moves from the left to the right of the viewer. A factor with a single value stays in the middle.
    Person k is the same in every grid.
    """

    origin: ClassVar = "drawn"
    stands_in_for: ClassVar = "basel-faces"

    num_identities: int = 50
    """How many people."""
    num_azimuths: int = 21
    """How many turns of the head, from side to side."""
    num_elevations: int = 11
    """How many heights of the viewer."""
    num_lightings: int = 11
    """How many places of the lamp."""
    resolution: int = 64
    """Height and width of the images, in pixels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_drawable(
            self,
            _MAX_IMAGES,
            num_identities=(1, _MAX_IMAGES),
            num_azimuths=(1, _MAX_VALUES),
            num_elevations=(1, _MAX_VALUES),
            num_lightings=(1, _MAX_VALUES),
            resolution=(_MIN_RESOLUTION, _MAX_RESOLUTION),
        )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (
            Factor("identity", self.num_identities, ordered=False),
            Factor("azimuth", self.num_azimuths),
            Factor("elevation", self.num_elevations),
            Factor("lighting", self.num_lightings),
        )

    @property
    def num_images(self) -> int:
        return math.prod(factor.size for factor in self.factors)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, self.resolution, self.resolution)

    @property
    def store(self) -> ImageStore:
        """Returns the store of the drawn images."""
        grid = "x".join(str(factor.size) for factor in self.factors)
        return ImageStore(files.cache_folder() / "shaded-faces" / f"{grid}_{self.resolution}px_v{_DRAWING_VERSION}")

    def open(self, *, verify: bool = False) -> FactorImages:
        return self.store.ensure(self._plan, _DOING, verify=verify)

    def _plan(self) -> Plan:
        facts = {"config": asdict(self), "version": _DRAWING_VERSION}
        return Plan(self.image_shape, self.factors, grid_rows(self.factors), self._blocks, facts=facts)

    def _blocks(self, start: int) -> Blocks:
        """Yields the images from number `start` on, in order; a block is one person at one azimuth."""
        first, skipped = divmod(start, self.num_elevations * self.num_lightings)
        azimuths = _angles(self.num_azimuths, _MAX_AZIMUTH)
        elevations = _angles(self.num_elevations, shading.MAX_ELEVATION)
        lamps = shading.lamps_at(_angles(self.num_lightings, _MAX_LIGHTING))
        lock = threading.Lock()  # the points of a person are computed once, by one thread

        @functools.lru_cache(maxsize=2)
        def points(identity: int) -> shading.SurfacePoints:
            surfaces = heads.surfaces(heads.numbered(identity))
            return shading.points_of(surfaces, shading.spacing_for(self.resolution))

        def draw(number: int) -> UInt8[Tensor, "block 1 height width"]:
            identity, place = divmod(number, self.num_azimuths)
            with lock:
                of_person = points(identity)
            images = shading.draw(of_person, azimuths[place], elevations, lamps, self.resolution)
            return images.flatten(0, 1)[:, None]

        return shading.drawn_ahead(draw, range(first, self.num_identities * self.num_azimuths), skipped)


def _angles(number: int, end: float) -> list[float]:
    """Returns angles evenly from -end to end, both included; a single one is 0."""
    return np.linspace(-end, end, number).tolist() if number > 1 else [0.0]
