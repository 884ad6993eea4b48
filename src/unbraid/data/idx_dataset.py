"""What MNIST and the sets that are published in its form share."""

from dataclasses import dataclass
from pathlib import Path

from unbraid.data.converted import ConvertedDataset
from unbraid.data.formats import idx
from unbraid.data.image_store import Plan


@dataclass(frozen=True)
class IdxDataset(ConvertedDataset):
    """60,000 images to train on and 10,000 to test on, 28 by 28 grey bytes, in ten classes, in four idx files, gzipped
    or not.
    """

    split: idx.Split = "train"

    def __post_init__(self) -> None:
        super().__post_init__()
        idx.check_split(self.split, type(self).__name__)

    @property
    def published_num_images(self) -> int:
        return idx.NUM_IMAGES[self.split]

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, idx.IMAGE_SIDE, idx.IMAGE_SIDE)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        return idx.find(folder, self.split)

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        return idx.plan(type(self).__name__, sources, self.split, self.factors)
