"""The idx format of the MNIST family: its files in a folder, and how one is read.

An idx file is two zero bytes, a type (8: unsigned byte), the number of dimensions, their lengths as big-endian 32-bit
integers, and the values (yann.lecun.com/exdb/mnist). Only bytes are read here.
"""

import gzip
import io
import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, cast

import numpy as np
from jaxtyping import UInt8

from unbraid import files
from unbraid.data.dataset import Factor
from unbraid.data.fetching.publication import PublishedFile
from unbraid.data.image_store import Plan
from unbraid.errors import DataError, SpecError

Split = Literal["train", "test"]

IMAGE_SIDE = 28
NUM_CLASSES = 10
NUM_IMAGES: dict[Split, int] = {"train": 60_000, "test": 10_000}
_PREFIXES: dict[Split, str] = {"train": "train", "test": "t10k"}
_UNSIGNED_BYTE = 8
_GZIP_MAGIC = b"\x1f\x8b"
# A file may promise billions of values in ten bytes; no set of the family comes near this.
_MAX_VALUES = 2**28
_IMAGES_PER_BLOCK = 10_000


def published_files(
    folder_url: str, checksum_source: str, named: Mapping[str, tuple[int, str]]
) -> tuple[PublishedFile, ...]:
    """The files of a folder on the web, given their sizes and MD5s by name."""
    return tuple(
        PublishedFile(name, f"{folder_url}/{name}", num_bytes, f"md5:{md5}", checksum_source)
        for name, (num_bytes, md5) in named.items()
    )


def check_split(split: str, name: str) -> None:
    if split not in NUM_IMAGES:
        raise SpecError(f"{name}: split is {split!r}; give 'train' or 'test'.")


def find(folder: Path, split: Split) -> tuple[Path, ...] | None:
    """The files of images and labels, if the folder has both: images of one set must not meet labels of another."""
    stems = (f"{_PREFIXES[split]}-images-idx3-ubyte", f"{_PREFIXES[split]}-labels-idx1-ubyte")
    found = [next((path for path in (folder / stem, folder / f"{stem}.gz") if path.is_file()), None) for stem in stems]
    return None if None in found else cast(tuple[Path, ...], tuple(found))


def plan(name: str, sources: tuple[Path, ...], split: Split, factor_table: tuple[Factor, ...]) -> Plan:
    """One split, checked, from its file of images and its file of labels."""
    images_path, labels_path = sources
    images, labels = labelled_images(name, images_path, labels_path, split)

    def blocks(start: int) -> Iterator[UInt8[np.ndarray, "block channel height width"]]:
        for first in range(start, len(images), _IMAGES_PER_BLOCK):
            yield images[first : first + _IMAGES_PER_BLOCK, None]

    return Plan((1, IMAGE_SIDE, IMAGE_SIDE), factor_table, labels[:, None].astype(np.int64), blocks)


def labelled_images(
    name: str, images_path: Path, labels_path: Path, split: Split
) -> tuple[UInt8[np.ndarray, "image 28 28"], UInt8[np.ndarray, " image"]]:
    """The images and labels of one split, from its two files."""
    expected = NUM_IMAGES[split]
    images, labels = read_idx(images_path, num_dimensions=3), read_idx(labels_path, num_dimensions=1)
    if images.shape != (expected, IMAGE_SIDE, IMAGE_SIDE):
        raise DataError(
            f"{images_path} has images of shape {images.shape}; the {split} split of {name} is "
            f"{(expected, IMAGE_SIDE, IMAGE_SIDE)}. "
            "Fetch the official file, or use FromArrays for images of your own."
        )
    if labels.shape != (expected,):
        raise DataError(
            f"{labels_path} has {len(labels)} labels; the {split} split of {name} has {expected}. Fetch the official "
            "file."
        )
    if labels.max() >= NUM_CLASSES:
        raise DataError(
            f"{labels_path} has a label {labels.max()}; expected 0 to {NUM_CLASSES - 1}. Fetch the official file."
        )
    return images, labels


def read_idx(path: Path, num_dimensions: int) -> UInt8[np.ndarray, "..."]:
    """The array in an idx file of bytes, gzipped or not (by its first bytes, not its name)."""
    try:
        with files.opened(path) as file:
            is_gzipped = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            shape, values = _read(gzip.GzipFile(fileobj=file) if is_gzipped else file, num_dimensions)
    except (EOFError, OSError, zlib.error, struct.error, ValueError) as error:
        raise DataError(f"{path} is not a readable idx file ({error}). It may be cut short: fetch it again.") from error
    if len(values) != math.prod(shape):
        held = f"{len(values)}" if len(values) < math.prod(shape) else "more"
        raise DataError(
            f"{path} promises {math.prod(shape)} values and holds {held}. It may be cut short: fetch it again."
        )
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)


def _read(stream: io.BufferedIOBase, num_dimensions: int) -> tuple[tuple[int, ...], bytes]:
    """The lengths of the dimensions, and the values: at most one more than these promise."""
    (magic,) = struct.unpack(">I", stream.read(4))
    expected = (_UNSIGNED_BYTE << 8) + num_dimensions
    if magic != expected:
        raise ValueError(
            f"it begins with {magic:#010x}, where {num_dimensions}-dimensional bytes begin with {expected:#010x}"
        )
    shape = struct.unpack(f">{num_dimensions}I", stream.read(4 * num_dimensions))
    if math.prod(shape) > _MAX_VALUES:
        raise ValueError(f"it promises {math.prod(shape)} values; at most {_MAX_VALUES} are read")
    return shape, stream.read(math.prod(shape) + 1)
