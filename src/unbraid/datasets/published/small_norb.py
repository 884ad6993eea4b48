"""smallNORB: toys under a pair of cameras."""

import contextlib
import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
from jaxtyping import Int64, UInt8

from unbraid._internal import files
from unbraid.datasets.dataset import Factor
from unbraid.datasets.fetching.verification import Publication, published_files
from unbraid.datasets.image_store import Plan
from unbraid.datasets.pictures import resized
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import DataError

_PREFIXES = {"train": "smallnorb-5x46789x9x18x6x2x96x96-training", "test": "smallnorb-5x01235x9x18x6x2x96x96-testing"}
_SPLITS = {"train": ("train",), "test": ("test",), "all": ("train", "test")}
_CAMERAS = {"left": [0], "right": [1], "both": [0, 1]}
_KINDS = ("dat", "cat", "info")
_SIDE = 96
_MAGICS = {"int32": 0x1E3D4C54, "uint8": 0x1E3D4C55}
_IMAGES_PER_SPLIT = 24_300
_PAIRS_PER_BLOCK = 512
# By column of the category file and the info file: the factor, and the steps in which its labels are counted.
_COLUMNS = (
    (Factor("category", 5, ordered=False), 1),
    (Factor("instance", 10, ordered=False), 1),
    (Factor("elevation", 9), 1),
    (Factor("azimuth", 18), 2),
    (Factor("lighting", 6, ordered=False), 1),
)
_PUBLISHED = {
    ("train", "dat"): (131_896_188, "5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    ("train", "cat"): (348, "2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    ("train", "info"): (71_052, "de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    ("test", "dat"): (130_799_817, "cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    ("test", "cat"): (347, "ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    ("test", "info"): (10_428, "16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
}
_FILES = {
    f"{_PREFIXES[split]}-{kind}.mat.gz": (num_bytes, f"sha256:{digest}")
    for (split, kind), (num_bytes, digest) in _PUBLISHED.items()
}
_URL = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small"


@final
@dataclass(frozen=True)
class Matrix:
    """A binary matrix of the NORB sets in a file, gzipped if its name ends in .gz, whose values are read in blocks.

    A file is little-endian throughout: a magic number for the type of the values, the number of dimensions, their
    lengths (at least three, the surplus ones of a smaller matrix without meaning), all as 32-bit integers, and then the
    values, the last index fastest (cs.nyu.edu/~ylclab/data/norb-v1.0-small).
    """

    path: Path
    type: Literal["uint8", "int32"]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, path: Path, type_: Literal["uint8", "int32"], row_shape: tuple[int, ...], max_rows: int) -> "Matrix":
        """Returns the matrix, which must have rows of this type and shape, at least one and at most so many."""
        num_dimensions = 1 + len(row_shape)
        with _opened(path) as stream:
            magic, found = struct.unpack("<II", stream.read(8))
            lengths = struct.unpack("<4I", stream.read(16).ljust(16, b"\0"))
            shape = lengths[:num_dimensions]
            is_expected = (magic, found, shape[1:]) == (_MAGICS[type_], num_dimensions, row_shape)
            if not (is_expected and 1 <= shape[0] <= max_rows):
                raise ValueError(
                    f"it begins with {magic:#010x} and {found} dimensions, {lengths}; expected {_MAGICS[type_]:#010x} "
                    f"and {num_dimensions}, 1 to {max_rows} rows of {row_shape}"
                )
        return cls(path, type_, shape)

    def read(self) -> np.ndarray:
        (values,) = self.blocks(self.shape[0])
        return values

    def blocks(self, rows_at_a_time: int, start: int = 0) -> Iterator[np.ndarray]:
        """Yields the rows from number `start` on. Raises an error if the file is shorter or longer than its header."""
        dtype = np.dtype(self.type).newbyteorder("<")
        row_bytes = math.prod(self.shape[1:]) * dtype.itemsize
        with _opened(self.path) as stream:
            stream.seek(8 + 4 * max(3, len(self.shape)) + start * row_bytes)
            for first in range(start, self.shape[0], rows_at_a_time):
                num_rows = min(rows_at_a_time, self.shape[0] - first)
                content = stream.read(num_rows * row_bytes)
                if len(content) != num_rows * row_bytes:
                    raise ValueError(
                        f"it promises {self.shape[0]} rows and ends in number {first + len(content) // row_bytes}"
                    )
                yield np.frombuffer(content, dtype).reshape(num_rows, *self.shape[1:])
            if stream.read(1):
                raise ValueError(f"it has more than the {self.shape[0]} rows that its header states")


@final
@dataclass(frozen=True)
class SmallNORB(ConvertedDataset):
    """The 48,600 photographs of 50 toys by LeCun, Huang & Bottou, gray bytes, resized from 96 by 96 to 64 by 64.

    The toys have 5 categories and are seen from 162 directions in 6 lights. The official files may be gzipped or not.
    The images keep the shuffled order of the files; with `split="all"` the training images come first. Every toy was
    photographed by two cameras: with `camera="both"` the right image follows the left one, and the camera is one more
    factor.
    """

    publication: ClassVar = Publication(
        title="The small NORB dataset, v1.0",
        homepage=f"{_URL}/",
        license="research only",
        license_note="Its owners provide it for research and forbid to sell it.",
        files=published_files(_URL, "TensorFlow Datasets", _FILES),
        subfolders=("small-norb", "small_norb", "smallnorb"),
    )

    split: Literal["train", "test", "all"] = "all"
    """The toys to train on, those to test on, or all."""
    camera: Literal["left", "right", "both"] = "left"
    """The left image of each pair, the right one, or both, with the camera as a factor."""
    resolution: Literal[64, 96] = 64
    """Height and width of the images, in pixels."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        labeled = tuple(factor for factor, _ in _COLUMNS)
        return (*labeled, Factor("camera", 2, ordered=False)) if self.camera == "both" else labeled

    @property
    def published_num_images(self) -> int:
        return _IMAGES_PER_SPLIT * len(_SPLITS[self.split]) * len(_CAMERAS[self.camera])

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, self.resolution, self.resolution)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        found = []
        for stem in (folder / f"{_PREFIXES[split]}-{kind}.mat" for split in _SPLITS[self.split] for kind in _KINDS):
            path = next((path for path in (stem.with_name(f"{stem.name}.gz"), stem) if path.is_file()), None)
            if path is None:
                return None
            found.append(path)
        return tuple(found)

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        splits = [_matrices(*sources[first : first + len(_KINDS)]) for first in range(0, len(sources), len(_KINDS))]
        pairs = [images for images, _ in splits]
        labels = np.concatenate([labels for _, labels in splits])
        if self.camera == "both":
            labels = np.column_stack([labels.repeat(2, axis=0), np.arange(2 * len(labels)) % 2])

        def blocks(start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
            cameras = _CAMERAS[self.camera]
            first_pair, surplus = divmod(start, len(cameras))
            for block in _pairs_from(pairs, first_pair):
                yield resized(block[:, cameras].reshape(-1, 1, _SIDE, _SIDE)[surplus:], self.resolution)
                surplus = 0

        return Plan(self.image_shape, self.factors, labels, blocks)


def _matrices(
    images_path: Path, categories_path: Path, info_path: Path
) -> tuple[Matrix, Int64[np.ndarray, "image factor"]]:
    """Returns the images of a split, not yet read, and its labels as value indices."""
    images = Matrix.of(images_path, "uint8", (2, _SIDE, _SIDE), _IMAGES_PER_SPLIT)
    categories = Matrix.of(categories_path, "int32", (), _IMAGES_PER_SPLIT).read()
    info = Matrix.of(info_path, "int32", (4,), _IMAGES_PER_SPLIT).read()
    if not len(categories) == len(info) == images.shape[0]:
        raise DataError(
            f"{images_path} has {images.shape[0]} pairs, {categories_path.name} labels {len(categories)} and "
            f"{info_path.name} {len(info)}. Fetch the official files, all of one split."
        )
    labels, steps = np.column_stack([categories, info]).astype(np.int64), [step for _, step in _COLUMNS]
    for column, (factor, step) in zip(labels.T, _COLUMNS, strict=True):
        if (column % step).any() or column.min() < 0 or column.max() >= factor.size * step:
            raise DataError(
                f"{categories_path} or {info_path} has a {factor.name} that is not one of 0, {step}, ..., "
                f"{(factor.size - 1) * step}. Fetch the official files."
            )
    return images, labels // steps


def _pairs_from(matrices: list[Matrix], start: int) -> Iterator[UInt8[np.ndarray, "block 2 height width"]]:
    """Yields all pairs from number `start` on, of one file after the other."""
    for matrix in matrices:
        if start < matrix.shape[0]:
            yield from matrix.blocks(_PAIRS_PER_BLOCK, start)
        start = max(0, start - matrix.shape[0])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BufferedIOBase]:
    try:
        with files.opened(path) as file:
            yield gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
    except (EOFError, OSError, zlib.error, struct.error, ValueError) as error:
        raise DataError(
            f"{path} is not a readable NORB matrix ({error}). It may be cut short or damaged: fetch it again."
        ) from error
