"""A random part of the images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from unbraid._internal.row_draws import permuted_rows
from unbraid.datasets.columns import FactorColumn, Values
from unbraid.datasets.subsets.subset import Part, Subset
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class RandomSplit(Subset):
    """A `fraction` of the images, rounded to the nearest number, chosen by `seed`. A larger fraction of the same seed
    holds the smaller.
    """

    fraction: float = 0.9
    """The share of the images that is chosen."""
    seed: int = 0
    """Which images are chosen."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fraction < 1:
            raise SpecError(f"RandomSplit: fraction is {self.fraction}; expected a number between 0 and 1.")

    def check(self, factors: Sequence[FactorColumn], num_images: int) -> None:
        if not 0 < self._count(num_images) < num_images:
            raise SpecError(
                f"RandomSplit: {self.fraction:g} of {num_images:,} images leaves one part without any. Choose another "
                "fraction."
            )

    def described(self, factors: Sequence[FactorColumn], values: Values) -> Bool[Tensor, " image"]:
        chosen = torch.zeros(len(values), dtype=torch.bool)
        chosen[permuted_rows(len(values), self.seed, "random split")[: self._count(len(values))]] = True
        return chosen.to(values.device)

    def _count(self, num_images: int) -> int:
        return round(self.fraction * num_images)
