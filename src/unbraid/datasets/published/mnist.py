"""MNIST and Fashion-MNIST: ten classes of 28 by 28 gray images, in IDX files."""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
from jaxtyping import Float64, UInt8

from unbraid.datasets.dataset import Factor
from unbraid.datasets.fetching.verification import Publication, published_files
from unbraid.datasets.formats.archives import read_unzipped
from unbraid.datasets.image_store import Plan, sliced
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.errors import DataError

NUM_CLASSES = 10
_SIDE = 28
_NUM_IMAGES = {"train": 60_000, "test": 10_000}
_PREFIXES = {"train": "train", "test": "t10k"}
_IMAGES_PER_BLOCK = 5_000
_UNSIGNED_BYTE = 8  # the type of the values of an IDX file


@dataclass(frozen=True)
class IdxDataset(ConvertedDataset):
    """Base class of datasets in IDX files: 60,000 training and 10,000 test images, 28 by 28 gray bytes, ten classes."""

    image_shape: ClassVar = (1, _SIDE, _SIDE)

    split: Literal["train", "test"] = "train"
    """Split: the 60,000 training images or the 10,000 test images."""

    @property
    def published_num_images(self) -> int:
        return _NUM_IMAGES[self.split]

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        # Both files must be in one folder, so that images and labels belong to the same dataset.
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
                f"{sources[1]} has the label {labels.max()}; expected 0 to {NUM_CLASSES - 1}. Fetch the official file."
            )
        classes, measured = labels[:, None].astype(np.int64), self.measured(images)
        columns = classes if measured is None else np.concatenate([classes, measured], axis=1)
        return Plan(
            self.image_shape, self.factors, columns, lambda start: sliced(images[:, None], start, _IMAGES_PER_BLOCK)
        )

    def measured(self, images: UInt8[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image measured"] | None:
        """Measures additional factors from the pixels. The default is None: no additional factors."""
        return None


@final
@dataclass(frozen=True)
class MNIST(IdxDataset):
    """MNIST: handwritten digits (LeCun, Cortes & Burges), 60,000 training and 10,000 test images, 28 by 28 gray bytes.

    The official IDX files may be gzipped or not.
    """

    publication: ClassVar = Publication(
        title="The MNIST database of handwritten digits",
        homepage="http://yann.lecun.com/exdb/mnist",
        license="CC BY-SA 3.0",
        license_note="Derived from NIST's databases by LeCun and Cortes, who hold the copyright.",
        files=published_files(
            "https://ossci-datasets.s3.amazonaws.com/mnist",
            "torchvision, for the files formerly on LeCun's page",
            {
                "train-images-idx3-ubyte.gz": (9_912_422, "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                "train-labels-idx1-ubyte.gz": (28_881, "md5:d53e105ee54ea40749a09fcbcd1e9432"),
                "t10k-images-idx3-ubyte.gz": (1_648_877, "md5:9fb629c4189551a2d022fa330f9573f3"),
                "t10k-labels-idx1-ubyte.gz": (4_542, "md5:ec29112dd5afa0611ce80d1b7f02629c"),
            },
        ),
        subfolders=("mnist", "MNIST/raw"),
    )

    shape_factors: bool = False
    """Whether to add thickness, width and slant, measured from the pixels, as continuous factors."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        measured = ("thickness", "width", "slant") if self.shape_factors else ()
        return (Factor("digit", NUM_CLASSES, ordered=False), *(Factor(name, 0) for name in measured))

    def measured(self, images: UInt8[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image measured"] | None:
        return digit_shape(images) if self.shape_factors else None


@final
@dataclass(frozen=True)
class FashionMNIST(IdxDataset):
    """Fashion-MNIST: clothing (Xiao, Rasul & Vollgraf, arXiv:1708.07747v2), 60,000 training and 10,000 test images.

    The images are 28 by 28 gray bytes in 10 classes. The official IDX files may be gzipped or not.
    """

    publication: ClassVar = Publication(
        title="Fashion-MNIST",
        homepage="https://github.com/zalandoresearch/fashion-mnist",
        license="MIT",
        files=published_files(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
            "the authors' page",
            {
                "train-images-idx3-ubyte.gz": (26_421_880, "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                "train-labels-idx1-ubyte.gz": (29_515, "md5:25c81989df183df01b3e8a0aad5dffbe"),
                "t10k-images-idx3-ubyte.gz": (4_422_102, "md5:bef4ecab320f06d8554ea6380940ec79"),
                "t10k-labels-idx1-ubyte.gz": (5_148, "md5:bb300cfdad3c16e7a12a480ee83cd310"),
            },
        ),
        subfolders=("fashion-mnist", "FashionMNIST/raw"),
    )

    factors: ClassVar = (Factor("class", NUM_CLASSES, ordered=False),)


def read_idx(path: Path, shape: tuple[int, ...]) -> UInt8[np.ndarray, "..."]:
    """Reads an IDX file of bytes with an expected shape. A file is gzipped if its name ends in .gz.

    A file consists of two zero bytes, a type, the number of dimensions, the lengths of the dimensions as big-endian
    32-bit integers, and the values (yann.lecun.com/exdb/mnist).
    """
    header = struct.pack(f">HBB{len(shape)}I", 0, _UNSIGNED_BYTE, len(shape), *shape)
    content = read_unzipped(path, len(header) + math.prod(shape) + 1)
    if not content.startswith(header) or len(content) != len(header) + math.prod(shape):
        raise DataError(f"{path} is invalid; expected {shape} bytes in the IDX format. Fetch the official file.")
    return np.frombuffer(content, np.uint8, offset=len(header)).reshape(shape)


def digit_shape(images: UInt8[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image 3"]:
    """Measures stroke thickness and digit width, in pixels, and the slant of digits.

    Bright pixels are ink. Images without ink have NaN. The thickness is the shorter side of a rectangle with the area
    and the outline of the ink. The slant is the slope of the regression of x on height: the tangent of the angle by
    which the digit leans to the right. The digit width is the width of a uniform bar with the same variance of x after
    the slant is removed.
    """
    blocks = [images[first : first + _IMAGES_PER_BLOCK] for first in range(0, len(images), _IMAGES_PER_BLOCK)]
    return np.concatenate([_shape_of_ink(block.astype(np.float64) / 255) for block in blocks] or [np.empty((0, 3))])


def _shape_of_ink(ink: Float64[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image 3"]:
    area = ink.sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        slant, width = _slant_and_width(ink, area)
        half = _outline(ink) / 2
        # The shorter side of the rectangle with this area and outline, or of a square if no such rectangle exists.
        thickness = (half - np.sqrt(np.maximum(half**2 - 4 * area, 0.0))) / 2
    return np.where(area[:, None] > 0, np.stack([thickness, width, slant], axis=1), np.nan)


def _outline(ink: Float64[np.ndarray, "image height width"]) -> Float64[np.ndarray, " image"]:
    """Computes the length of the outline: the sum of the norm of the brightness gradient."""
    framed = np.pad(ink, ((0, 0), (1, 1), (1, 1)))
    down, right = np.diff(framed, axis=1), np.diff(framed, axis=2)
    # Both derivatives are taken at the common corner of four pixels, so that no direction is preferred.
    down, right = (down[:, :, 1:] + down[:, :, :-1]) / 2, (right[:, 1:] + right[:, :-1]) / 2
    return np.hypot(down, right).sum(axis=(1, 2))


def _slant_and_width(
    ink: Float64[np.ndarray, "image height width"], area: Float64[np.ndarray, " image"]
) -> tuple[Float64[np.ndarray, " image"], Float64[np.ndarray, " image"]]:
    """Computes the slant and the width from the moments of the ink."""
    up = -np.arange(ink.shape[1], dtype=np.float64)
    right = np.arange(ink.shape[2], dtype=np.float64)
    rows, columns = ink.sum(axis=2), ink.sum(axis=1)
    mean_up, mean_right = rows @ up / area, columns @ right / area
    variance_up = rows @ up**2 / area - mean_up**2
    variance_right = columns @ right**2 / area - mean_right**2
    covariance = np.einsum("nhw,h,w->n", ink, up, right) / area - mean_up * mean_right
    slant = np.divide(covariance, variance_up, out=np.zeros_like(variance_up), where=variance_up > 1e-12)
    straight = np.maximum(variance_right - slant * covariance, 0.0)
    # The column numbers of w adjacent pixels have the variance (w^2 - 1) / 12.
    return slant, np.sqrt(12 * straight + 1)
