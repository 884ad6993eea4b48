"""What a joint distribution over factors is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxtyping import Float64
from torch import Tensor

from unbraid.config import Config
from unbraid.datasets.columns import FactorColumn, discrete_place_of
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

    def check(self, factors: Sequence[FactorColumn]) -> None:
        """Raises if the table cannot be laid over these factors."""
        self.sizes_among(factors)

    def sizes_among(self, factors: Sequence[FactorColumn]) -> tuple[int, ...]:
        """Returns the sizes of the factors of this joint, among those of a data set, if the table exists for them."""
        sizes = tuple(factors[discrete_place_of(name, factors, type(self).__name__)].size for name in self.factors)
        if math.prod(sizes) > MAX_CELLS:
            raise SpecError(
                f"{type(self).__name__}: a table over {', '.join(self.factors)} has {math.prod(sizes):,} cells. "
                "Choose fewer factors."
            )
        self.table(sizes)
        return sizes


def check_names(names: Sequence[str], asked_by: str, count: int | None = None) -> None:
    """Raises if no factors are named, not as many as needed, or one of them twice."""
    expected = "at least one" if count is None else str(count)
    if not names or (count is not None and len(names) != count):
        raise SpecError(
            f"{asked_by}: factors is {', '.join(names) or 'empty'}; expected {expected}. Name them, separated by "
            "commas."
        )
    if len(set(names)) < len(names):
        raise SpecError(f"{asked_by}: factors is {', '.join(names)}: one of them twice. Name each once.")
