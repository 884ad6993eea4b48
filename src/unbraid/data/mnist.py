"""MNIST: handwritten digits."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch

from unbraid import files
from unbraid.data import idx
from unbraid.data.dataset import Factor, FactorDataset, FactorImages
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class MNIST(FactorDataset):
    """The digits of LeCun, Cortes & Burges: 60,000 images to train on and 10,000 to test on, 28 by 28 grey bytes, labelled 0 to 9.

    Read from the four official idx files, gzipped or not, in `root` or else in the folder named by `UNBRAID_DATA`; there, or in a
    subfolder `mnist` or `MNIST/raw`.
    """

    origin: ClassVar = "read"

    root: str | None = None
    split: idx.Split = "train"

    def __post_init__(self) -> None:
        if self.split not in idx.NUM_IMAGES:
            raise SpecError(f"MNIST: split is {self.split!r}; give 'train' or 'test'.")
        if self.root:
            object.__setattr__(self, "root", files.absolute(self.root))

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor("digit", idx.NUM_CLASSES, ordered=False),)

    @property
    def num_images(self) -> int:
        return idx.NUM_IMAGES[self.split]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, idx.IMAGE_SIDE, idx.IMAGE_SIDE)

    def load(self, device: torch.device | str = "cpu") -> FactorImages:
        images, labels = idx.labelled_images("MNIST", self.root, ("mnist", "MNIST/raw"), self.split)
        return FactorImages(torch.tensor(images[:, None], device=device), torch.tensor(labels[:, None], device=device).long(), self.factors)
