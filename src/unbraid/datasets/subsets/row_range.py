"""Images that follow one another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from unbraid.datasets.columns import FactorColumn, Values
from unbraid.datasets.subsets.subset import Part, Subset
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class RowRange(Subset):
    """The images from row `start` up to, but not including, row `stop`. Without a `stop`, to the end."""

    start: int = 0
    """The first row."""
    stop: int | None = None
    """The row after the last; without it to the end."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise SpecError(
                f"RowRange: the rows are {self.start} to {self.stop}; expected a start of 0 or more and a stop beyond "
                "it."
            )

    def check(self, factors: Sequence[FactorColumn], num_images: int) -> None:
        if self.start >= num_images or (self.stop or 0) > num_images:
            raise SpecError(
                f"RowRange: the rows are {self.start} to {'the end' if self.stop is None else self.stop}, and there "
                f"are {num_images:,} images. "
                f"Give a start below {num_images} and a stop of at most {num_images}."
            )

    def described(self, factors: Sequence[FactorColumn], values: Values) -> Bool[Tensor, " image"]:
        chosen = torch.zeros(len(values), dtype=torch.bool, device=values.device)
        chosen[self.start : self.stop] = True
        return chosen
