"""What a joint distribution over factors is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from unbraid._internal.arrays import is_masked
from unbraid.config import Config
from unbraid.datasets.columns import check_names, discrete_place_of
from unbraid.datasets.dataset import Factor
from unbraid.errors import SpecError

# A table of more cells than any data set has images is a slip, and would fill the memory.
MAX_CELLS = 50_000_000


class Joint(Config, ABC):
    """Probability of each combination of values of some factors. All other factors stay as they are, given these.

    It is a config: frozen, comparable, written to JSON by its fields. `image_weights` turns it into weights of the
    images of a data set.
    """

    if TYPE_CHECKING:
        # Only declared: a property that exists would become the default of the dataclass field that takes its place.
        @property
        def factors(self) -> tuple[str, ...]:
            """Returns the names of the factors, one an axis of the table."""

    @abstractmethod
    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        """Returns the probability of each combination of values, one axis a factor, for factors of these sizes. It sums
        to one.
        """

    def check(self, factors: Sequence[Factor]) -> None:
        """Raises if the table cannot be laid over these factors."""
        self.sizes_among(factors)

    def sizes_among(self, factors: Sequence[Factor]) -> tuple[int, ...]:
        """Returns the sizes of the factors of this joint, among those of a data set, if the table exists for them."""
        sizes = tuple(factors[discrete_place_of(name, factors, type(self).__name__)].size for name in self.factors)
        if math.prod(sizes) > MAX_CELLS:
            raise SpecError(
                f"{type(self).__name__}: a table over {', '.join(self.factors)} has {math.prod(sizes):,} cells. "
                "Choose fewer factors."
            )
        self.table(sizes)
        return sizes


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


@final
@dataclass(frozen=True)
class Product(Joint):
    """The product of joint tables, scaled to sum to one. Over different factors, they are independent of each other and
    each stays what it is.

    Where two of them name the same factor, the product is what both ask for together, and neither is left as it was: so
    one factor can be correlated with several others.
    """

    joints: tuple[Joint, ...]
    """The tables that are multiplied."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.joints:
            raise SpecError("Product: joints is empty; expected one or more joint tables.")

    @property
    def factors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for joint in self.joints for name in joint.factors))

    def table(self, sizes: tuple[int, ...]) -> Float64[Tensor, "..."]:
        product = torch.ones(sizes, dtype=torch.float64)
        for joint in self.joints:
            places = [self.factors.index(name) for name in joint.factors]
            table = joint.table(tuple(sizes[place] for place in places))
            in_our_order = table.permute(sorted(range(len(places)), key=places.__getitem__))
            shape = [size if place in places else 1 for place, size in enumerate(sizes)]
            product = product * (in_our_order.reshape(shape) * math.prod(table.shape))
        if not float(product.sum()) > 0:
            raise SpecError(
                f"Product: no combination of {', '.join(self.factors)} is possible under all of the joints. Weaken "
                "one of them."
            )
        return product / product.sum()
