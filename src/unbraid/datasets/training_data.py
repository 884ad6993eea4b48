"""Training data: a dataset with an optional subset and sampling weights."""

from dataclasses import dataclass, replace
from typing import final

import torch

from unbraid.datasets.dataset import FactorDataset, FactorImages
from unbraid.datasets.subsets import Subset
from unbraid.datasets.weights import Joint, image_weights


@final
@dataclass(frozen=True)
class TrainingData:
    """Images of a dataset or of a subset, with sampling weights.

    Without `sampling`, the images have the weights of the dataset, or equal weights for a dataset without weights.
    """

    dataset: FactorDataset
    sampling: Joint | None = None
    subset: Subset | None = None

    def check(self) -> None:
        """Checks that `subset` and `sampling` match the factors of the dataset, without drawing or reading images."""
        if self.subset is not None:
            self.subset.check(self.dataset.factors, self.dataset.num_images)
        if self.sampling is not None:
            self.sampling.sizes_among(self.dataset.factors)

    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns the weighted images on the CPU, memory-mapped if large."""
        images = self.dataset.open(verify=verify)
        if self.subset is not None:
            images = self.subset.select(images)
        if self.sampling is None:
            return images
        weights = image_weights(self.sampling, images.factor_table, images.values, images.weights)
        return replace(images, weights=weights)

    def load(self, device: torch.device | str = "cpu") -> FactorImages:
        """Loads the weighted images to a device, after verifying the checksums of their files."""
        return self.open(verify=True).to(device)
