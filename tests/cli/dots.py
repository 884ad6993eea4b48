"""A published dataset of the tests' own: dots that the command line can list, fetch and show like any other."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, final

import numpy as np

from unbraid.datasets.dataset import Factor
from unbraid.datasets.fetching.verification import Publication, PublishedFile
from unbraid.datasets.image_store import Plan
from unbraid.datasets.published.converted import ConvertedDataset

# Twelve images of 2 by 2: every combination of three rows of brightness and four places.
CONTENT = bytes(60 + 40 * (image // 4) if pixel == image % 4 else 0 for image in range(12) for pixel in range(4))


@final
@dataclass(frozen=True)
class Dots(ConvertedDataset):
    """Two-by-two images, one after another in a file."""

    publication: ClassVar = Publication(
        "A dozen dots",
        "https://example.org/dots",
        "CC0",
        (PublishedFile("dots.bin", "https://example.org/dots.bin", len(CONTENT)),),
        ("dots", "Dots/raw"),
        license_note="Dots are free.",
    )

    @property
    def factors(self) -> tuple[Factor, ...]:
        return (Factor("brightness", 3), Factor("place", 4, ordered=False))

    @property
    def published_num_images(self) -> int:
        return 12

    @property
    def image_shape(self) -> tuple[int, int, int]:
        return (1, 2, 2)

    def sources(self, folder: Path) -> tuple[Path, ...] | None:
        return (folder / "dots.bin",) if (folder / "dots.bin").is_file() else None

    def plan(self, sources: tuple[Path, ...]) -> Plan:
        images = np.frombuffer(sources[0].read_bytes(), dtype=np.uint8).reshape(-1, 1, 2, 2)
        return Plan(
            (1, 2, 2),
            self.factors,
            np.stack([np.arange(12) // 4, np.arange(12) % 4], axis=1),
            lambda start: iter([images[start:]]),
        )
