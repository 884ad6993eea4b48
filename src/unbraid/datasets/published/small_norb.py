"""smallNORB: photographs of toys by two cameras."""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
from jaxtyping import Int32, Int64, UInt8

from unbraid.datasets.dataset import Factor
from unbraid.datasets.fetching.verification import Publication, published_files
from unbraid.datasets.formats.archives import read_unzipped
from unbraid.datasets.image_store import Blocks, Plan, sliced
from unbraid.datasets.pictures import resized
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import DataError

_TRAIN = "smallnorb-5x46789x9x18x6x2x96x96-training"
_TEST = "smallnorb-5x01235x9x18x6x2x96x96-testing"
_PREFIXES = {"train": _TRAIN, "test": _TEST}
_SPLITS = {"train": ("train",), "test": ("test",), "all": ("train", "test")}
_CAMERAS = {"left": [0], "right": [1], "both": [0, 1]}
_KINDS = ("dat", "cat", "info")
_SIDE = 96
_MAGICS = {"int32": 0x1E3D4C54, "uint8": 0x1E3D4C55}
_PAIRS_PER_SPLIT = 24_300
_PAIRS_PER_BLOCK = 512
# For each column of the category file and the info file: the factor, and the step between its labels.
_COLUMNS = (
    (Factor("category", 5, ordered=False), 1),
    (Factor("instance", 10, ordered=False), 1),
    (Factor("elevation", 9), 1),
    (Factor("azimuth", 18), 2),
    (Factor("lighting", 6, ordered=False), 1),
)
_FILES = {
    f"{_TRAIN}-dat.mat.gz": (131_896_188, "sha256:5ffd6272a07d32695ee1082a26a41a93a37aab8c28da047f8c34ed348d214873"),
    f"{_TRAIN}-cat.mat.gz": (348, "sha256:2784e542c1922060691090952b6cd6278879a216c90f81476f0f00256d42cdaa"),
    f"{_TRAIN}-info.mat.gz": (71_052, "sha256:de7eb932ebe7a4ee16217fead60660d0eb3d23632c2f4d1c51f88c501c17bf32"),
    f"{_TEST}-dat.mat.gz": (130_799_817, "sha256:cf7104eed3e51174d2f65b66d1e5878b9da233b886f161b0d88f4510ba2c7474"),
    f"{_TEST}-cat.mat.gz": (347, "sha256:ecaf6d5bb8c3bc5eab9cf0258f6d2198dd474e016e374836fc097f2e5ff509ff"),
    f"{_TEST}-info.mat.gz": (10_428, "sha256:16adf314226327ee006d1a44db8cfef52773c06c829951d5653a9f6f310248a2"),
}
_URL = "https://cs.nyu.edu/~ylclab/data/norb-v1.0-small"


@final
@dataclass(frozen=True)
class SmallNORB(ConvertedDataset):
    """smallNORB: 48,600 gray photographs of 50 toys (LeCun, Huang & Bottou), resized from 96 by 96 to 64 by 64.

    The toys belong to 5 categories and are photographed from 162 directions in 6 lights. The official files may be
    gzipped or not. The images keep the shuffled order of the files. With `split="all"` the training images come first.
    Every toy was photographed by two cameras. With `camera="both"` the right image follows the left image, and the
    camera is an additional factor.
    """

    publication: ClassVar = Publication(
        title="The small NORB dataset, v1.0",
        homepage=f"{_URL}/",
        license="research only",
        license_note="For research only; the owners forbid any sale.",
        files=published_files(_URL, "TensorFlow Datasets", _FILES),
        subfolders=("small-norb", "small_norb", "smallnorb"),
    )

    split: Literal["train", "test", "all"] = "all"
    """Split: the training toys, the test toys, or all toys."""
    camera: Literal["left", "right", "both"] = "left"
    """Camera: the left image of each pair, the right image, or both with the camera as a factor."""
    resolution: Literal[64, 96] = 64
    """Height and width of the images, in pixels."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        labeled = tuple(factor for factor, _ in _COLUMNS)
        return (*labeled, Factor("camera", 2, ordered=False)) if self.camera == "both" else labeled

    @property
    def published_num_images(self) -> int:
        return _PAIRS_PER_SPLIT * len(_SPLITS[self.split]) * len(_CAMERAS[self.camera])

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
        splits = [sources[first : first + len(_KINDS)] for first in range(0, len(sources), len(_KINDS))]
        labels = [_labels(categories, info) for _, categories, info in splits]
        rows, cameras = np.concatenate(labels), _CAMERAS[self.camera]
        if self.camera == "both":
            rows = np.column_stack([rows.repeat(2, axis=0), np.arange(2 * len(rows)) % 2])

        def blocks(start: int) -> Blocks:
            first_pair, surplus = divmod(start, len(cameras))
            for (path, *_), labels_of_split in zip(splits, labels, strict=True):
                if first_pair < len(labels_of_split):
                    pairs = read_matrix(path, "uint8", (2, _SIDE, _SIDE), _PAIRS_PER_SPLIT)
                    if len(pairs) != len(labels_of_split):
                        raise DataError(
                            f"{path} has {len(pairs)} pairs; expected {len(labels_of_split)}, the number of labels. "
                            "Fetch both files."
                        )
                    for block in sliced(pairs, first_pair, _PAIRS_PER_BLOCK):
                        yield resized(block[:, cameras].reshape(-1, 1, _SIDE, _SIDE)[surplus:], self.resolution)
                        surplus = 0
                first_pair = max(0, first_pair - len(labels_of_split))

        return Plan(self.image_shape, self.factors, rows, blocks)


def _labels(categories_path: Path, info_path: Path) -> Int64[np.ndarray, "pair factor"]:
    """Reads the labels of a split as value indices."""
    categories = read_matrix(categories_path, "int32", (), _PAIRS_PER_SPLIT)
    info = read_matrix(info_path, "int32", (4,), _PAIRS_PER_SPLIT)
    if len(categories) != len(info):
        raise DataError(
            f"{categories_path} has {len(categories)} labels; expected {len(info)} as in {info_path.name}. Fetch both "
            "files."
        )
    labels, steps = np.column_stack([categories, info]).astype(np.int64), [step for _, step in _COLUMNS]
    for column, (factor, step) in zip(labels.T, _COLUMNS, strict=True):
        if (column % step).any() or column.min() < 0 or column.max() >= factor.size * step:
            raise DataError(
                f"{categories_path} or {info_path} has an invalid {factor.name}; expected 0, {step}, ..., "
                f"{(factor.size - 1) * step}. Fetch the official files."
            )
    return labels // steps


def read_matrix(
    path: Path, type_: Literal["uint8", "int32"], row_shape: tuple[int, ...], max_rows: int
) -> UInt8[np.ndarray, "row ..."] | Int32[np.ndarray, "row ..."]:
    """Reads a matrix in the NORB format, with rows of an expected type and shape. Decompresses files ending in .gz.

    A file is little-endian. It starts with a magic number for the type of the values, the number of dimensions, and the
    length of each dimension (at least three lengths; surplus lengths are ignored), all as 32-bit integers. The values
    follow, the last index changing fastest (cs.nyu.edu/~ylclab/data/norb-v1.0-small).
    """
    dtype = np.dtype(type_).newbyteorder("<")
    num_dimensions, row_bytes = 1 + len(row_shape), math.prod(row_shape) * dtype.itemsize
    header = struct.Struct(f"<II{max(3, num_dimensions)}I")
    content = read_unzipped(path, header.size + max_rows * row_bytes + 1)
    magic, found, *lengths = header.unpack(content[: header.size].ljust(header.size, b"\0"))
    num_rows, *shape = lengths[:num_dimensions]
    is_expected = (magic, found, tuple(shape)) == (_MAGICS[type_], num_dimensions, row_shape)
    if not is_expected or not 1 <= num_rows <= max_rows or len(content) != header.size + num_rows * row_bytes:
        raise DataError(
            f"{path} begins with {magic:#010x}, {found} dimensions and {lengths}; expected {_MAGICS[type_]:#010x}, "
            f"{num_dimensions} dimensions and exactly 1 to {max_rows} rows of {row_shape}. Fetch the damaged or "
            "truncated file again."
        )
    return np.frombuffer(content, dtype, offset=header.size).reshape(num_rows, *row_shape)
