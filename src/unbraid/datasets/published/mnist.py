"""MNIST: handwritten digits."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from jaxtyping import Float64, UInt8

from unbraid.datasets.conversion.idx_dataset import NUM_CLASSES, IdxDataset, published_files
from unbraid.datasets.dataset import Factor
from unbraid.datasets.pictures.digit_shape import MEASURED, digit_shape
from unbraid.datasets.publication import Publication


@final
@dataclass(frozen=True)
class MNIST(IdxDataset):
    """The digits of LeCun, Cortes & Burges: 60,000 images to train on and 10,000 to test on, 28 by 28 gray bytes,
    labeled 0 to 9.

    Read from the four official idx files, gzipped or not.
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
                "train-images-idx3-ubyte.gz": (9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                "train-labels-idx1-ubyte.gz": (28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
                "t10k-images-idx3-ubyte.gz": (1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
                "t10k-labels-idx1-ubyte.gz": (4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
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
