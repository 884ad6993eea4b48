"""Images on one side of a value."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from jaxtyping import Bool, Float64
from torch import Tensor

from unbraid.datasets.columns import FactorColumn, Values, measurements, place_of
from unbraid.datasets.subsets.subset import Part, Subset, whole_share
from unbraid.errors import DataError, SpecError


@final
@dataclass(frozen=True)
class Threshold(Subset):
    """The images in which a factor lies "below" a threshold, or "above": at it or beyond.

    The threshold is a `value`, or a `quantile`: the value that this fraction of the images, rounded down, lie below, as
    far as ties allow. Give one of the two. For continuous factors and for those whose values have an order. An image in
    which the factor is not known (NaN) lies on neither side, and does not count towards a quantile.
    """

    factor: str
    """The factor, by name."""
    side: Literal["below", "above"] = "below"
    """The images below the threshold, or those at it or above."""
    value: float | None = None
    """The threshold."""
    quantile: float | None = None
    """In place of a value: the share of the images that lies below the threshold."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.value is None) == (self.quantile is None):
            raise SpecError("Threshold: give either a value of the factor, or a quantile between 0 and 1.")
        if self.value is not None and not math.isfinite(self.value):
            raise SpecError(f"Threshold: value is {self.value}; expected a finite number.")
        if self.quantile is not None and not 0 < self.quantile < 1:
            raise SpecError(f"Threshold: quantile is {self.quantile}; expected a number between 0 and 1.")

    def check(self, factors: Sequence[FactorColumn], num_images: int) -> None:
        if not factors[place_of(self.factor, factors, "Threshold")].ordered:
            raise SpecError(
                f"Threshold: the values of {self.factor} have no order. Choose them one by one, with ChosenValues."
            )

    def described(self, factors: Sequence[FactorColumn], values: Values) -> Bool[Tensor, " image"]:
        place = place_of(self.factor, factors, "Threshold")
        column = measurements(values, place, factors[place])
        threshold = self._at_quantile(column) if self.value is None else self.value
        return column < threshold if self.side == "below" else column >= threshold

    def _at_quantile(self, column: Float64[Tensor, " image"]) -> Float64[Tensor, ""]:
        known = column[~column.isnan()]
        if len(known) == 0:
            raise DataError(
                f"Threshold: {self.factor} is not known in any of the {len(column):,} images. Choose another factor."
            )
        return known.sort().values[whole_share(self.quantile or 0.0, len(known))]
