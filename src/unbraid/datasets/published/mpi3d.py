"""MPI3D: a robot arm holds a solid in front of a camera."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, final, get_args

import numpy as np
from jaxtyping import UInt8

from unbraid._internal.npz import Npz
from unbraid.datasets.dataset import Factor, grid_rows
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import Plan
from unbraid.datasets.published.converted import ConvertedDataset

Version = Literal["toy", "realistic", "real"]

_FACTORS = (
    Factor("object_color", 6, ordered=False),
    Factor("object_shape", 6, ordered=False),
    Factor("object_size", 2),
    Factor("camera_height", 3),
    Factor("background_color", 3, ordered=False),
    Factor("horizontal_axis", 40),
    Factor("vertical_axis", 40),
)
_IMAGE_SIDE = 64
_IMAGES_PER_BLOCK = 1024
_MD5S: dict[Version, str] = {
    "toy": "55889cb7c7dfc655d6e0277beee88868",
    "realistic": "59a6225b88b635365f70c91b3e52f70f",
    "real": "0f33f609918fb5c97996692f91129802",
}


def _published(version: Version) -> PublishedFile:
    name = f"mpi3d_{version}.npz"
    url = f"https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main/{name}"
    return PublishedFile(
        name, url, checksum=f"md5:{_MD5S[version]}", checksum_source="disent (github.com/nmichlo/disent)"
    )


@final
@dataclass(frozen=True)
class MPI3D(ConvertedDataset):
    """The 1,036,800 images of MPI3D (Gondal et al., arXiv:1906.03292v3), 64 by 64, in color.

    A robot arm is rendered simply, realistically, or photographed. Every combination of the factors occurs once,
    `vertical_axis` changing fastest. The official file of the version is larger than most memories and read in blocks.
    """

    publication: ClassVar = Publication(
        title="MPI3D",
        homepage="https://github.com/rr-learning/disentanglement_dataset",
        license="CC BY 4.0",
        license_note="Each of the three files takes 12.7 GB, and as much again once it is converted.",
        files=tuple(map(_published, get_args(Version))),
        subfolders=("mpi3d",),
    )

    version: Version = "real"
    """Simple renders, realistic renders, or photographs."""

    @property
    def needed_files(self) -> tuple[PublishedFile, ...]:
        """Returns the file of the version."""
        return tuple(file for file in self.publication.files if file.name == f"mpi3d_{self.version}.npz")

    @property
    def factors(self) -> tuple[Factor, ...]:
        return _FACTORS

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, _IMAGE_SIDE, _IMAGE_SIDE)

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        (path,) = sources
        return Plan(self.image_shape, self.factors, grid_rows(self.factors), lambda start: _blocks(path, start))


def _blocks(path: Path, start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
    for block in Npz(path).blocks("images", _IMAGES_PER_BLOCK, start):
        yield np.moveaxis(block, 3, 1)
