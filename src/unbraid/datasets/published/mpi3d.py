"""MPI3D: images of a robot arm with a solid object."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np

from unbraid._internal.npz import Npz
from unbraid.datasets.dataset import Factor, grid_rows
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import Plan
from unbraid.datasets.published.converted import ConvertedDataset

_IMAGES_PER_BLOCK = 1024
_MD5S = {
    "toy": "55889cb7c7dfc655d6e0277beee88868",
    "realistic": "59a6225b88b635365f70c91b3e52f70f",
    "real": "0f33f609918fb5c97996692f91129802",
}
_URL = "https://huggingface.co/datasets/waleedgondal/mpi3d/resolve/main"


@final
@dataclass(frozen=True)
class MPI3D(ConvertedDataset):
    """MPI3D: 1,036,800 color images of a robot arm (Gondal et al., arXiv:1906.03292v3), 64 by 64.

    The images are simple renders, realistic renders, or photographs. Every combination of factor values occurs once,
    and `vertical_axis` changes fastest. The official file of a version is read in blocks.
    """

    publication: ClassVar = Publication(
        title="MPI3D",
        homepage="https://github.com/rr-learning/disentanglement_dataset",
        license="CC BY 4.0",
        license_note="Each of the three files needs 12.7 GB, and its conversion another 12.7 GB.",
        files=tuple(
            PublishedFile(
                f"mpi3d_{version}.npz",
                f"{_URL}/mpi3d_{version}.npz",
                checksum=f"md5:{md5}",
                checksum_source="disent (github.com/nmichlo/disent)",
            )
            for version, md5 in _MD5S.items()
        ),
        subfolders=("mpi3d",),
    )
    factors: ClassVar = (
        Factor("object_color", 6, ordered=False),
        Factor("object_shape", 6, ordered=False),
        Factor("object_size", 2),
        Factor("camera_height", 3),
        Factor("background_color", 3, ordered=False),
        Factor("horizontal_axis", 40),
        Factor("vertical_axis", 40),
    )
    image_shape: ClassVar = (3, 64, 64)

    version: Literal["toy", "realistic", "real"] = "real"
    """Type of the images: simple renders, realistic renders, or photographs."""

    @property
    def needed_files(self) -> tuple[PublishedFile, ...]:
        return tuple(file for file in self.publication.files if file.name == f"mpi3d_{self.version}.npz")

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        (path,) = sources
        return Plan(
            self.image_shape,
            self.factors,
            grid_rows(self.factors),
            lambda start: (np.moveaxis(block, 3, 1) for block in Npz(path).blocks("images", _IMAGES_PER_BLOCK, start)),
        )
