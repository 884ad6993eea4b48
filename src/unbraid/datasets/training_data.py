"""TrainingData: what is trained on."""

from dataclasses import dataclass, replace
from typing import final

import torch

from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.datasets.subsets import Subset
from unbraid.datasets.weights import Joint, image_weights


@final
@dataclass(frozen=True)
class TrainingData:
    """Says what is trained on: the images of a data set, of them those of a subset, drawn as often as `sampling` says.

    Without a subset all images are there. Without sampling all are equally likely, unless the data set says otherwise.
    """

    dataset: FactorDataset
    sampling: Joint | None = None
    subset: Subset | None = None

    def check(self) -> None:
        """Raises if the data set has no such subset, or cannot be sampled so. No image is drawn or read for it."""
        if self.subset is not None:
            self.subset.check(self.dataset.factors, self.dataset.num_images)
        if self.sampling is not None:
            self.sampling.check(self.dataset.factors)

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns the images with their weights, on the CPU, memory-mapped where they are many."""
        images = self.dataset.open(verify=verify)
        if self.subset is not None:
            images = self.subset.select(images)
        if self.sampling is None:
            return images
        weights = image_weights(self.sampling, images.factor_table, images.values, images.weights)
        return replace(images, weights=weights)

    def load(self, device: torch.device | str = "cpu") -> FactorImages:
        """Returns the images, verified, on the device."""
        return self.open(verify=True).to(device)
