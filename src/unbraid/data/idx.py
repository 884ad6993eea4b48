"""The idx format of the MNIST family: where its files are looked for, and how one is read.

An idx file is two zero bytes, a type (8: unsigned byte), the number of dimensions, their lengths as big-endian 32-bit integers, and the
values (yann.lecun.com/exdb/mnist). Only bytes are read here.
"""

import gzip
import math
import os
import struct
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import UInt8

from unbraid import files
from unbraid.errors import DataError

Split = Literal["train", "test"]

IMAGE_SIDE = 28
NUM_CLASSES = 10
NUM_IMAGES: dict[Split, int] = {"train": 60_000, "test": 10_000}
_PREFIXES: dict[Split, str] = {"train": "train", "test": "t10k"}
_UNSIGNED_BYTE = 8
_GZIP_MAGIC = b"\x1f\x8b"


def labelled_images(
    name: str, root: str | None, subfolders: tuple[str, ...], split: Split
) -> tuple[UInt8[np.ndarray, "image 28 28"], UInt8[np.ndarray, " image"]]:
    """The images and labels of one split, from the official files in `root` (else in `UNBRAID_DATA`) or one of its subfolders."""
    images_path, labels_path = _find(name, _folders(name, root, subfolders), _PREFIXES[split])
    expected = NUM_IMAGES[split]
    images, labels = read_idx(images_path, num_dimensions=3), read_idx(labels_path, num_dimensions=1)
    if images.shape != (expected, IMAGE_SIDE, IMAGE_SIDE):
        raise DataError(
            f"{images_path} has images of shape {images.shape}; the {split} split of {name} is {(expected, IMAGE_SIDE, IMAGE_SIDE)}. "
            "Fetch the official file, or use FromArrays for images of your own."
        )
    if labels.shape != (expected,):
        raise DataError(f"{labels_path} has {len(labels)} labels; the {split} split of {name} has {expected}. Fetch the official file.")
    if labels.max() >= NUM_CLASSES:
        raise DataError(f"{labels_path} has a label {labels.max()}; expected 0 to {NUM_CLASSES - 1}. Fetch the official file.")
    return images, labels


def read_idx(path: Path, num_dimensions: int) -> UInt8[np.ndarray, "..."]:
    """The array in an idx file of bytes, gzipped or not (by its first bytes, not its name)."""
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP_MAGIC):
            content = gzip.decompress(content)
        shape, start = _header(content, num_dimensions)
    except (EOFError, OSError, zlib.error, struct.error, ValueError) as error:
        raise DataError(f"{path} is not a readable idx file ({error}). It may be cut short: fetch it again.") from error
    if len(content) - start != math.prod(shape):
        raise DataError(f"{path} promises {math.prod(shape)} values and holds {len(content) - start}. It may be cut short: fetch it again.")
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _header(content: bytes, num_dimensions: int) -> tuple[tuple[int, ...], int]:
    """The lengths of the dimensions, and where the values start."""
    (magic,) = struct.unpack_from(">I", content)
    expected = (_UNSIGNED_BYTE << 8) + num_dimensions
    if magic != expected:
        raise ValueError(f"it begins with {magic:#010x}, where {num_dimensions}-dimensional bytes begin with {expected:#010x}")
    return struct.unpack_from(f">{num_dimensions}I", content, 4), 4 + 4 * num_dimensions


def _folders(name: str, root: str | None, subfolders: tuple[str, ...]) -> list[Path]:
    chosen = root or os.environ.get("UNBRAID_DATA")
    if not chosen:
        raise DataError(
            f"{name} is read from a folder, and none was named. Give {name}(root=...), --dataset.root or UNBRAID_DATA the folder that holds "
            f"the official idx files, itself or in a subfolder {' or '.join(subfolders)}."
        )
    folder = Path(files.absolute(chosen))
    # Subfolders first: the files of the MNIST family have the same names, and only a subfolder says whose they are.
    return [folder / subfolder for subfolder in subfolders] + [folder]


def _find(name: str, folders: list[Path], prefix: str) -> tuple[Path, Path]:
    """The files of images and labels, both from the first folder that has both: images of one set must not meet labels of another."""
    stems = (f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte")
    for folder in folders:
        found = [path for stem in stems for path in (folder / stem, folder / f"{stem}.gz") if path.is_file()]
        by_stem = {path.name.removesuffix(".gz"): path for path in reversed(found)}
        if len(by_stem) == 2:
            return by_stem[stems[0]], by_stem[stems[1]]
    raise DataError(
        f"{name}: no folder among {', '.join(map(str, folders))} has both {' and '.join(stems)} (or the same with .gz). "
        f"Put the official files there, or give {name}(root=...), --dataset.root or UNBRAID_DATA the folder where they are."
    )
