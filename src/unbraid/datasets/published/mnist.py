"""MNIST and Fashion-MNIST: ten classes of 28 by 28 gray images, in IDX files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, final

import numpy as np
from jaxtyping import Float64, UInt8

from unbraid.datasets.dataset import Factor
from unbraid.datasets.fetching.verification import Publication, published_files
from unbraid.datasets.formats.idx import read_idx
from unbraid.datasets.image_store import Plan
from unbraid.datasets.published.converted import ConvertedDataset
from unbraid.datasets.published.digit_shape import MEASURED, digit_shape
from unbraid.errors import DataError

NUM_CLASSES = 10
_SIDE = 28
_NUM_IMAGES = {"train": 60_000, "test": 10_000}
_PREFIXES = {"train": "train", "test": "t10k"}
_IMAGES_PER_BLOCK = 10_000


@dataclass(frozen=True)
class IdxDataset(ConvertedDataset):
    """60,000 training and 10,000 test images, 28 by 28 gray bytes in ten classes, in four IDX files, gzipped or not."""

    split: Literal["train", "test"] = "train"
    """The 60,000 training images or the 10,000 test images."""

    @property
    def published_num_images(self) -> int:
        return _NUM_IMAGES[self.split]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, _SIDE, _SIDE)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        """Returns both files from one folder: images of one set must not be paired with labels of another."""
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
        """Returns factors measured from the pixels; by default none."""
        return None


@final
@dataclass(frozen=True)
class MNIST(IdxDataset):
    """The handwritten digits of LeCun, Cortes & Burges: 60,000 training and 10,000 test images, 28 by 28 gray bytes.

    The four official IDX files may be gzipped or not.
    """

    publication: ClassVar = Publication(
        title="The MNIST database of handwritten digits",
        homepage="http://yann.lecun.com/exdb/mnist",
        license="CC BY-SA 3.0",
        license_note="Derived from NIST's databases by LeCun and Cortes, who hold the copyright.",
        files=published_files(
            "https://ossci-datasets.s3.amazonaws.com/mnist",
            "torchvision, for the files that LeCun's page gave out",
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
    """Whether thickness, width and slant, measured from the pixels, are continuous factors beside the digit."""

    @property
    def factors(self) -> tuple[Factor, ...]:
        measured = tuple(Factor(name, 0) for name in MEASURED) if self.shape_factors else ()
        return (Factor("digit", NUM_CLASSES, ordered=False), *measured)

    def measured(self, images: UInt8[np.ndarray, "image height width"]) -> Float64[np.ndarray, "image measured"] | None:
        return digit_shape(images) if self.shape_factors else None


@final
@dataclass(frozen=True)
class FashionMNIST(IdxDataset):
    """Clothing by Xiao, Rasul & Vollgraf, arXiv:1708.07747v2: 60,000 training and 10,000 test images, gray bytes.

    The four official IDX files, 28 by 28 pixels in 10 classes, may be gzipped or not.
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

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor("class", NUM_CLASSES, ordered=False),)
