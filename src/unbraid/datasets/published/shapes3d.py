"""3D Shapes: renders of a solid object in a colored room."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, final

import numpy as np

from unbraid._internal import files
from unbraid.datasets.dataset import Factor, grid_rows
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import Blocks, Plan
from unbraid.datasets.published.converted import ConvertedDataset

_IMAGES_AT_ONCE = 2048


@final
@dataclass(frozen=True)
class Shapes3D(ConvertedDataset):
    """3D Shapes: 480,000 color images, 64 by 64 (Burgess & Kim, 2018, github.com/google-deepmind/3d-shapes).

    The factors are the hues of floor, wall and object, and the scale, shape and orientation of the object. Every
    combination occurs once, and `orientation` changes fastest. The images are read from the official `3dshapes.h5`.
    """

    publication: ClassVar = Publication(
        title="3D Shapes",
        homepage="https://github.com/google-deepmind/3d-shapes",
        license="Apache-2.0",
        files=(
            PublishedFile(
                "3dshapes.h5",
                "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
                267_573_662,
                "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
                "TensorFlow Datasets",
            ),
        ),
        subfolders=("shapes3d", "3dshapes", "3d-shapes"),
    )
    factors: ClassVar = (
        Factor("floor_hue", 10),
        Factor("wall_hue", 10),
        Factor("object_hue", 10),
        Factor("scale", 8),
        Factor("shape", 4, ordered=False),
        Factor("orientation", 15),
    )
    image_shape: ClassVar = (3, 64, 64)

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        (path,) = sources
        return Plan(self.image_shape, self.factors, grid_rows(self.factors), lambda start: _blocks(path, start))


def _blocks(path: Path, start: int) -> Blocks:
    """Yields the images from number `start` on. Reads whole chunks of the file, each with parts of many images."""
    import h5py

    with h5py.File(files.regular(path), "r", locking=False) as file:
        images = file["images"]
        chunk = images.chunks[0] if images.chunks else _IMAGES_AT_ONCE
        while start < len(images):
            block = images[start : (start // chunk + 1) * chunk]
            for first in range(0, len(block), _IMAGES_AT_ONCE):
                yield np.moveaxis(block[first : first + _IMAGES_AT_ONCE], 3, 1)
            start += len(block)
