"""Joint tables that are given: all alike, or number by number."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid._internal.arrays import is_masked
from unbraid.datasets.weights.joint import Joint, check_names
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class UniformJoint(Joint):
    """Every combination of values is equally likely. Evens out images that show some combinations more often than
    others.
    """

    factors: tuple[str, ...]
    """The factors it is about, by name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "UniformJoint")

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        return torch.full(sizes, 1 / math.prod(sizes), dtype=torch.float64)


@final
@dataclass(frozen=True)
class JointTable(Joint):
    """A given table, row by row: the values of the last factor follow one another. Scaled to sum to one.

    `JointTable.from_array(factors, array)` takes the numbers from an array with an axis for each factor.
    """

    factors: tuple[str, ...]
    """The factors it is about, by name."""
    probabilities: tuple[float, ...]
    """The table row by row, the values of the last factor following one another."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "JointTable")
        if (
            not self.probabilities
            or not all(math.isfinite(p) and p >= 0 for p in self.probabilities)
            or max(self.probabilities) == 0
        ):
            raise SpecError(
                "JointTable: probabilities must be finite, none of them negative and not all zero. Give one for each "
                "combination of values."
            )

    @classmethod
    def from_array(cls, factors: Sequence[str], table: Any) -> "JointTable":
        """Returns the table from an array, a tensor or nested lists with one axis a factor."""
        if is_masked(table):
            raise SpecError(
                "JointTable: some probabilities are masked. Give each combination one; 0 where there is none."
            )
        try:
            numbers = np.asarray(table.detach().cpu() if isinstance(table, Tensor) else table, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise SpecError(
                f"JointTable: no array of numbers can be made of what was given ({error}). Give one axis a factor."
            ) from None
        if numbers.ndim != len(factors):
            raise SpecError(
                f"JointTable: the array has {numbers.ndim} axes for {len(factors)} factors ({', '.join(factors)}). "
                "Give one axis a factor."
            )
        return cls(tuple(factors), tuple(numbers.ravel().tolist()))

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        if len(self.probabilities) != math.prod(sizes):
            shape = " x ".join(map(str, sizes))
            raise SpecError(
                f"JointTable: {len(self.probabilities)} probabilities were given for {', '.join(self.factors)}, which "
                f"take {shape} combinations of values; "
                f"expected {math.prod(sizes)}, the values of {self.factors[-1]} following one another."
            )
        # First divided by the greatest, so that the sum cannot overflow.
        numbers = torch.tensor(self.probabilities, dtype=torch.float64) / max(self.probabilities)
        return (numbers / numbers.sum()).reshape(sizes)
