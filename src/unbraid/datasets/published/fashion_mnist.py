"""Fashion-MNIST: pieces of clothing."""

from dataclasses import dataclass
from typing import ClassVar, final

from unbraid.datasets.conversion.idx_dataset import NUM_CLASSES, IdxDataset, published_files
from unbraid.datasets.dataset import Factor
from unbraid.datasets.publication import Publication


@final
@dataclass(frozen=True)
class FashionMNIST(IdxDataset):
    """Clothing by Xiao, Rasul & Vollgraf (arXiv:1708.07747v2): 60,000 images to train on and 10,000 to test on,
    28 by 28 gray bytes, in 10 classes.

    Read from the four official idx files, gzipped or not.
    """

    publication: ClassVar = Publication(
        title="Fashion-MNIST",
        homepage="https://github.com/zalandoresearch/fashion-mnist",
        license="MIT",
        files=published_files(
            "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",
            "the authors' page",
            {
                "train-images-idx3-ubyte.gz": (26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                "train-labels-idx1-ubyte.gz": (29_515, "25c81989df183df01b3e8a0aad5dffbe"),
                "t10k-images-idx3-ubyte.gz": (4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
                "t10k-labels-idx1-ubyte.gz": (5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
            },
        ),
        subfolders=("fashion-mnist", "FashionMNIST/raw"),
    )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor("class", NUM_CLASSES, ordered=False),)
