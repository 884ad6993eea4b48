"""3D Shapes: a solid in a coloured room."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, final

import numpy as np
from jaxtyping import Float64, Int64, UInt8

from unbraid.data.converted import ConvertedDataset
from unbraid.data.dataset import Factor
from unbraid.data.fetching.publication import Publication, PublishedFile
from unbraid.data.formats.hdf5 import Hdf5Reader
from unbraid.data.grid import grid_rows
from unbraid.data.image_store import Plan
from unbraid.errors import DataError

OFFICIAL_FILE = "3dshapes.h5"

_FACTORS = (
    Factor("floor_hue", 10),
    Factor("wall_hue", 10),
    Factor("object_hue", 10),
    Factor("scale", 8),
    Factor("shape", 4, ordered=False),
    Factor("orientation", 15),
)
_IMAGE_SIDE = 64
# Blocks of the file are large, for it is packed that way; what is passed on is less, for each step on the way copies
# it.
_IMAGES_AT_ONCE = 2048


@final
@dataclass(frozen=True)
class Shapes3D(ConvertedDataset):
    """The 480,000 images of 3D Shapes (Burgess & Kim, 2018, github.com/google-deepmind/3d-shapes): 64 by 64, in colour.

    Every combination of the hues of floor, wall and object, and of the scale, shape and orientation of the object,
    occurs once, `orientation` changing fastest. Read from the official `3dshapes.h5`.
    """

    publication: ClassVar = Publication(
        title="3D Shapes",
        homepage="https://github.com/google-deepmind/3d-shapes",
        licence="Apache-2.0",
        files=(
            PublishedFile(
                OFFICIAL_FILE,
                "https://storage.googleapis.com/3d-shapes/3dshapes.h5",
                267_573_662,
                "sha256:0a0f6ed98baff276a50f3a081a7434d788da63cb135a98189b2a5b5769be1785",
                "TensorFlow Datasets",
            ),
        ),
        subfolders=("shapes3d", "3dshapes", "3d-shapes"),
    )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return _FACTORS

    @property
    def published_num_images(self) -> int:
        return int(np.prod([factor.size for factor in self.factors]))

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (3, _IMAGE_SIDE, _IMAGE_SIDE)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        path = folder / OFFICIAL_FILE
        return (path,) if path.is_file() else None

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        (path,) = sources
        with Hdf5Reader() as reader:
            factors = read_factors(reader, path, self.factors)
        return Plan(self.image_shape, self.factors, factors, lambda start: _blocks(path, start))


def read_factors(reader: Hdf5Reader, path: Path, factors: tuple[Factor, ...]) -> Int64[np.ndarray, "image factor"]:
    """The factors that `labels` gives, as value indices. Refused if the file does not hold every combination, in order,
    and an image of each.
    """
    expected = grid_rows(factors)
    for name, dtype, shape in (
        ("images", np.uint8, (len(expected), _IMAGE_SIDE, _IMAGE_SIDE, 3)),
        ("labels", np.float64, (len(expected), len(factors))),
    ):
        header = reader.header(path, name)
        if header.shape != shape or header.dtype != dtype:
            raise DataError(
                f"{name!r} in {path} is {header.dtype} of shape {header.shape}; 3D Shapes has {np.dtype(dtype)} of "
                f"shape {shape}. "
                "Fetch the official file again."
            )
    labels: Float64[np.ndarray, "image factor"] = reader.read(path, "labels", 0, len(expected))
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in labels.T], axis=1)
    if not np.isfinite(labels).all() or not np.array_equal(ranks, expected):
        raise DataError(
            f"'labels' in {path} does not list every combination of the factors in order. Fetch the official file "
            "again."
        )
    return expected


def _blocks(path: Path, start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
    with Hdf5Reader() as reader:
        for block in reader.blocks(path, "images", start):
            for first in range(0, len(block), _IMAGES_AT_ONCE):
                yield np.moveaxis(block[first : first + _IMAGES_AT_ONCE], 3, 1)
