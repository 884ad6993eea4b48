"""Synthetic faces: people on a grid of poses, or in random poses with attributes."""

import functools
import math
import threading
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal, final

import numpy as np
import torch
from jaxtyping import Float64, UInt8
from torch import Tensor

from unbraid._internal import draws, files
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, check_drawable, grid_rows
from unbraid.datasets.image_store import Blocks, ImageStore, Plan
from unbraid.datasets.synthetic import heads, shading

# Version in the names of caches. Increase it when a change here, in heads.py or in shading.py changes a pixel.
_DRAWING_VERSION = 1
_RESOLUTIONS = (16, 64)
# One image per degree, from -90 to 90 degrees.
_MAX_VALUES = 181
# Limit of 40 GB at 64 pixels. A larger dataset is probably a typing error.
_MAX_IMAGES = 10_000_000

# The largest angles of ShadedFaces in both directions, and the largest angles of AttributeFaces in degrees.
_MAX_AZIMUTH, _MAX_LIGHTING = math.radians(90), math.radians(90)
_POSE = {"azimuth": 45.0, "elevation": 20.0, "lighting": 60.0}


@final
@dataclass(frozen=True)
class ShadedFaces(FactorDataset):
    """127,050 gray images of 50 synthetic faces on a grid of poses and lightings.

    The dataset replaces the Basel face renders of Chen et al. (arXiv:1802.04942v5), which have a restrictive license.
    The factors and their order are equal, and `lighting` changes fastest. The faces and images differ, so that scores
    are not comparable. The azimuth of the head ranges from -90 to 90 degrees, and the elevation of the viewer from -30
    to 30 degrees. The lamp moves from the left to the right of the viewer. A factor with a single value has the middle
    value. Person k is the same in every grid.
    """

    origin: ClassVar = "drawn"
    stands_in_for: ClassVar = "basel-faces"

    num_identities: int = 50
    """Number of people."""
    num_azimuths: int = 21
    """Number of azimuths of the head."""
    num_elevations: int = 11
    """Number of elevations of the viewer."""
    num_lightings: int = 11
    """Number of positions of the lamp."""
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
            resolution=_RESOLUTIONS,
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
        """Store of the drawn images."""
        grid = "x".join(str(factor.size) for factor in self.factors)
        return ImageStore(files.cache_folder() / "shaded-faces" / f"{grid}_{self.resolution}px_v{_DRAWING_VERSION}")

    def open(self, *, verify: bool = False) -> FactorImages:
        return self.store.ensure(self._plan, "drawing ShadedFaces", verify=verify)

    def _plan(self) -> Plan:
        facts = {"config": asdict(self), "version": _DRAWING_VERSION}
        return Plan(self.image_shape, self.factors, grid_rows(self.factors), self._blocks, facts=facts)

    def _blocks(self, start: int) -> Blocks:
        """Yields the images from number `start` on. Each block has one person at one azimuth."""
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
    """Returns evenly spaced angles from -end to end, both included. A single angle is 0."""
    return np.linspace(-end, end, number).tolist() if number > 1 else [0.0]


@final
@dataclass(frozen=True)
class AttributeFaces(FactorDataset):
    """20,000 gray images of 2,000 synthetic faces in random poses, with 25 face attributes.

    The dataset replaces CelebA (Liu et al., ICCV 2015), which does not allow copies. An attribute is a trait of a
    person, such as `nose_length`, `beard` or `hair_shade`. A "binary" attribute is 1 if the trait is above the middle
    of its range, which is the median over all people. "continuous" attributes are the traits, followed by azimuth,
    elevation and lighting in degrees. The traits are independent and uniform. Unlike in CelebA, attributes do not
    correlate, and a constant prediction has accuracy 0.5. The images of a person are consecutive. Person k is the same
    as in `ShadedFaces`.
    """

    origin: ClassVar = "drawn"
    stands_in_for: ClassVar = "celeba"

    num_people: int = 2_000
    """Number of people."""
    poses_per_person: int = 10
    """Number of images of each person, with random poses and lights."""
    attributes: Literal["binary", "continuous"] = "binary"
    """Type of the factors: binary attributes, or continuous traits and poses."""
    resolution: int = 64
    """Height and width of the images, in pixels."""
    seed: int = 0
    """Random seed of the poses."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_drawable(
            self,
            _MAX_IMAGES,
            num_people=(1, _MAX_IMAGES),
            poses_per_person=(1, _MAX_IMAGES),
            resolution=_RESOLUTIONS,
            seed=(0, 2**63 - 1),
        )

    @property
    def factors(self) -> tuple[Factor, ...]:
        if self.attributes == "binary":
            return tuple(Factor(name, 2) for name in heads.RANGES)
        return _measured()

    @property
    def num_images(self) -> int:
        return self.num_people * self.poses_per_person

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, self.resolution, self.resolution)

    @property
    def store(self) -> ImageStore:
        """Store of the images, shared by both kinds of attributes."""
        name = f"{self.num_people}x{self.poses_per_person}_{self.resolution}px_seed{self.seed}_v{_DRAWING_VERSION}"
        return ImageStore(files.cache_folder() / "attribute-faces" / name)

    def open(self, *, verify: bool = False) -> FactorImages:
        images = self.store.ensure(self._plan, "drawing AttributeFaces", verify=verify)
        if self.attributes == "continuous":
            return images
        traits = torch.stack([labels.values for labels in images.factors[: len(heads.RANGES)]], dim=1)
        middles = traits.new_tensor([sum(ends) / 2 for ends in heads.RANGES.values()])
        return FactorImages.from_table(images.pixels, (traits > middles).long(), self.factors)

    def _plan(self) -> Plan:
        people = np.array([list(vars(heads.numbered(person)).values()) for person in range(self.num_people)])
        poses = np.concatenate([np.degrees(self._poses(person)) for person in range(self.num_people)])
        table = np.concatenate([people.repeat(self.poses_per_person, axis=0), poses], axis=1)
        facts = {"people": self.num_people, "poses": self.poses_per_person, "version": _DRAWING_VERSION}
        return Plan(self.image_shape, _measured(), table, self._blocks, facts=facts)

    def _blocks(self, start: int) -> Blocks:
        """Yields the images from number `start` on, in order. Each block has one person."""
        first, skipped = divmod(start, self.poses_per_person)
        return shading.drawn_ahead(self._person, range(first, self.num_people), skipped)

    def _person(self, person: int) -> UInt8[Tensor, "pose 1 height width"]:
        surfaces = heads.surfaces(heads.numbered(person))
        points = shading.points_of(surfaces, shading.spacing_for(self.resolution))
        drawn = [
            shading.draw(points, azimuth, [elevation], shading.lamps_at([lighting]), self.resolution)[0]
            for azimuth, elevation, lighting in self._poses(person).tolist()
        ]
        return torch.stack(drawn)

    def _poses(self, person: int) -> Float64[np.ndarray, "pose 3"]:
        """Returns the azimuth, elevation and lamp angle of each image of a person, in radians."""
        shape = (self.poses_per_person, len(_POSE))
        uniform = draws.uniform(torch.tensor([self.seed]), "attribute faces/poses", person, shape)[0].double().numpy()
        return (2 * uniform - 1) * np.array([math.radians(end) for end in _POSE.values()])


def _measured() -> tuple[Factor, ...]:
    return tuple(Factor(name, 0) for name in (*heads.RANGES, *_POSE))
