"""A published data set of which a run may use a part, where all parts share one cache."""

from abc import abstractmethod
from dataclasses import dataclass, replace

from unbraid.datasets.conversion.converted import ConvertedDataset
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.image_store import ImageStore


@dataclass(frozen=True)
class PartedDataset(ConvertedDataset):
    """Everything is converted once; `split` chooses the part that is opened; "all" opens every part."""

    split: str = "all"

    @abstractmethod
    def part(self, images: FactorImages) -> FactorImages:
        """Returns what of all that was converted is in the split."""

    @property
    def num_images(self) -> int:
        """Returns how many images were found when the files were converted, or are published if they were not yet."""
        return self.published_num_images if self.store.flaw() is not None else len(self.part(self.store.images()))

    @property
    def store(self) -> ImageStore:
        return super().store if self.split == "all" else replace(self, split="all").store

    def open(self, *, verify: bool = False) -> FactorImages:
        return self.part(super().open(verify=verify))
