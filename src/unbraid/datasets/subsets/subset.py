"""Subset: the base class of subsets of images."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from jaxtyping import Bool, Int64
from torch import Tensor

from unbraid.config import Config
from unbraid.datasets.columns import Values
from unbraid.datasets.dataset import Factor, FactorImages
from unbraid.errors import DataError

Part = Literal["train", "test"]


class Subset(Config, ABC):
    """A split of the images in two: those that the config describes, `part` "train", and all others, "test".

    A config: frozen, comparable, written to JSON by its fields, `part` the last of them. The same config with the other
    part gives the other images.
    """

    if TYPE_CHECKING:

        @property
        def part(self) -> Part: ...

    @abstractmethod
    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        """Returns which images the config describes."""

    @abstractmethod
    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        """Raises an error for a config that no images with these factors can have."""

    def complement(self) -> "Subset":
        """Returns the same config with the other part: all images that this one leaves out."""
        other: dict[str, Part] = {"part": "test" if self.part == "train" else "train"}
        return replace(self, **other)

    def rows(self, factors: Sequence[Factor], values: Values) -> Int64[Tensor, " row"]:
        """Returns the rows of the chosen part, in order. Raises an error if it is empty."""
        self.check(factors, len(values))
        described = self.described(factors, values)
        rows = (described if self.part == "train" else ~described).nonzero()[:, 0]
        if len(rows) == 0:
            raise DataError(
                f"{type(self).__name__}: of the {len(values):,} images, none is in the {self.part} part. "
                f"Describe {'more' if self.part == 'train' else 'fewer'} of them, or take the other part."
            )
        return rows

    def select(self, images: FactorImages) -> FactorImages:
        """Returns the images of the chosen part, in their order, without a copy of pixels."""
        rows = self.rows(images.factor_table, images.values)
        if images.weights is not None and not float(images.weights[rows].double().sum()) > 0:
            raise DataError(
                f"{type(self).__name__}: all {len(rows):,} images of the {self.part} part have the weight 0. "
                "Choose others."
            )
        return images.select(rows)


def whole_share(fraction: float, count: int) -> int:
    """Returns the fraction of the count, rounded down; 0.29 of 100, in floats 28.999999999999996, is 29."""
    return int(fraction * count + 1e-9)
