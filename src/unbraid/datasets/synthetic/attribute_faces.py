"""Faces of invented people in random poses, labeled with their traits."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
import torch
from jaxtyping import Float64, UInt8
from torch import Tensor

from unbraid._internal import draws, files
from unbraid.datasets.dataset import Factor, FactorDataset, FactorImages, check_drawable
from unbraid.datasets.image_store import Blocks, ImageStore, Plan
from unbraid.datasets.synthetic import heads, shading

# Part of the name of the cache. Raise it when a change here, in heads.py or in shading.py changes a pixel.
_DRAWING_VERSION = 1
_DOING = "drawing AttributeFaces"
_MIN_RESOLUTION, _MAX_RESOLUTION = 16, 64
_MAX_IMAGES = 10_000_000
# How far the pose goes to either side, in degrees.
_POSE = {"azimuth": 45.0, "elevation": 20.0, "lighting": 60.0}


@final
@dataclass(frozen=True)
class AttributeFaces(FactorDataset):
    """20,000 gray images of 2,000 invented people in random poses, with 25 face attributes.

    A stand-in for CelebA (Liu et al., ICCV 2015), which does not allow copies. An attribute is a trait of the person,
    such as `nose_length`, `beard` or `hair_shade`. A "binary" attribute is 1 if the trait lies above the middle of its
    range, which is the median over all people. "continuous" attributes are the traits, followed by azimuth, elevation
    and lighting in degrees. Traits are independent and uniform, so attributes do not correlate as they do in CelebA,
    and a constant prediction is right for half of the images. The images of a person follow each other. Person k is the
    same as in ShadedFaces.
    """

    origin: ClassVar = "drawn"
    stands_in_for: ClassVar = "celeba"

    num_people: int = 2_000
    """How many people."""
    poses_per_person: int = 10
    """How many images of each person, in random poses and lights."""
    attributes: Literal["binary", "continuous"] = "binary"
    """Traits as attributes of two values, or as measurements."""
    resolution: int = 64
    """Height and width of the images, in pixels."""
    seed: int = 0
    """Which poses are drawn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_drawable(
            self,
            _MAX_IMAGES,
            num_people=(1, _MAX_IMAGES),
            poses_per_person=(1, _MAX_IMAGES),
            resolution=(_MIN_RESOLUTION, _MAX_RESOLUTION),
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
        """Returns the store of the images, which do not depend on the kind of attributes."""
        name = f"{self.num_people}x{self.poses_per_person}_{self.resolution}px_seed{self.seed}_v{_DRAWING_VERSION}"
        return ImageStore(files.cache_folder() / "attribute-faces" / name)

    def open(self, *, verify: bool = False) -> FactorImages:
        images = self.store.ensure(self._plan, _DOING, verify=verify)
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
        """Yields the images from number `start` on, in order; a block is one person."""
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
        """Returns azimuth, elevation and the place of the lamp, in radians, of each image of a person."""
        shape = (self.poses_per_person, len(_POSE))
        uniform = draws.uniform(torch.tensor([self.seed]), "attribute faces/poses", person, shape)[0].double().numpy()
        return (2 * uniform - 1) * np.array([math.radians(end) for end in _POSE.values()])


def _measured() -> tuple[Factor, ...]:
    return tuple(Factor(name, 0) for name in (*heads.RANGES, *_POSE))
