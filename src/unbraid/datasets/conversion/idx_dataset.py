"""What MNIST and the sets that are published in its form share.

An idx file is two zero bytes, a type (8: unsigned byte), the number of dimensions, their lengths as big-endian 32-bit
integers, and the values (yann.lecun.com/exdb/mnist).
"""

import gzip
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float64, UInt8

from unbraid._internal import files
from unbraid.datasets.conversion.converted import ConvertedDataset
from unbraid.datasets.image_store import Plan
from unbraid.datasets.publication import PublishedFile
from unbraid.errors import DataError

NUM_CLASSES = 10
_SIDE = 28
_NUM_IMAGES = {"train": 60_000, "test": 10_000}
_PREFIXES = {"train": "train", "test": "t10k"}
_UNSIGNED_BYTE = 8
_IMAGES_PER_BLOCK = 10_000


@dataclass(frozen=True)
class IdxDataset(ConvertedDataset):
    """60,000 images to train on and 10,000 to test on, 28 by 28 gray bytes, in ten classes, in four idx files, gzipped
    or not.
    """

    split: Literal["train", "test"] = "train"
    """The 60,000 images to train on, the 10,000 to test on, or all."""

    @property
    def published_num_images(self) -> int:
        return _NUM_IMAGES[self.split]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, _SIDE, _SIDE)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns both files from one folder: images of one set must not meet labels of another."""
        found = []
        for kind in ("images-idx3", "labels-idx1"):
            stem = f"{_PREFIXES[self.split]}-{kind}-ubyte"
            found += [path for path in (folder / stem, folder / f"{stem}.gz") if path.is_file()][:1]
        return tuple(found) if len(found) == 2 else None

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        images = read_idx(sources[0], (self.published_num_images, _SIDE, _SIDE))
        labels = read_idx(sources[1], (self.published_num_images,))
        if labels.max() >= NUM_CLASSES:
            raise DataError(
                f"{sources[1]} has a label {labels.max()}; expected 0 to {NUM_CLASSES - 1}. Fetch the official file."
            )

        def blocks(start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
            for first in range(start, len(images), _IMAGES_PER_BLOCK):
                yield images[first : first + _IMAGES_PER_BLOCK, None]

        classes, measured = labels[:, None].astype(np.int64), self.measured(images)
        columns = classes if measured is None else np.concatenate([classes, measured], axis=1)
        return Plan(self.image_shape, self.factors, columns, blocks)

    def measured(self, images: UInt8[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image measured"] | None:
        """Returns factors that are measured from the pixels, beside the class. By default there are none."""
        return None


def published_files(
    folder_url: str, checksum_source: str, named: Mapping[str, tuple[int, str]]
) -> tuple[PublishedFile, ...]:
    """Returns the files of a folder on the web, given their sizes and MD5s by name."""
    return tuple(
        PublishedFile(name, f"{folder_url}/{name}", num_bytes, f"md5:{md5}", checksum_source)
        for name, (num_bytes, md5) in named.items()
    )


def read_idx(path: Path, shape: tuple[int, ...]) -> UInt8[np.ndarray, "..."]:
    """Returns the bytes of this shape, which must be all that is in the file; gzipped if its name ends so."""
    header = struct.pack(f">HBB{len(shape)}I", 0, _UNSIGNED_BYTE, len(shape), *shape)
    with files.opened(path) as file:
        stream = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
        content = stream.read(len(header) + math.prod(shape) + 1)
    if not content.startswith(header) or len(content) != len(header) + math.prod(shape):
        raise DataError(
            f"{path} does not hold {shape} bytes in the idx format. Fetch the official file, or use FromArrays for "
            "images of your own."
        )
    return np.frombuffer(content, np.uint8, offset=len(header)).reshape(shape)
