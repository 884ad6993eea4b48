"""What every optimiser answers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from unbraid.errors import SpecError
from unbraid.recipes.recipe import Recipe
from unbraid.schedule import Weight, extremes

Stack = Float[Tensor, "member ..."]
"""A tensor with a row for each member."""


@final
@dataclass(frozen=True)
class Pace:
    """Holds how members move at one step: the learning rate of each, which of them are alive, and what the optimiser
    has made of the number of the step.
    """

    learning_rate: Float[Tensor, " member"]
    alive: Bool[Tensor, " member"]
    of_step: Mapping[str, Float[Tensor, "..."]]


@dataclass(frozen=True)
class Optimiser(Recipe, ABC):
    """The recipe of a way down the gradient. It holds no tensors: a fleet keeps what it remembers, and changes it in
    place.

    Members of a fleet may differ in `learning_rate`, which may follow a schedule, and in nothing else of it.
    """

    learning_rate: Weight

    def __post_init__(self) -> None:
        """Refuses a learning rate with which no step would be taken."""
        super().__post_init__()
        least, greatest = extremes(self.learning_rate)
        if not (math.isfinite(least) and math.isfinite(greatest) and least >= 0 < greatest):
            raise SpecError(
                f"{type(self).__name__}: learning_rate is {self.learning_rate}; expected a positive, finite number "
                "such as 1e-3, or a schedule from 0 up."
            )

    @property
    @abstractmethod
    def memory(self) -> Mapping[str, float]:
        """Returns the names of what it remembers of each weight, and the number that each begins with."""

    def of_step(self, step: Int64[Tensor, ""]) -> dict[str, Float64[Tensor, "..."]]:
        """Returns what depends on the step alone, which counts from 1. By default, nothing does."""
        return {}

    @abstractmethod
    def descend_(self, weights: Stack, gradient: Stack, memory: Mapping[str, Stack], pace: Pace) -> None:
        """Changes one tensor of weights, and what is remembered of it, in place.

        A member that is not alive has the gradient 0 and the learning rate 0. It must keep its memory to the bit.
        """


def over_members(values: Tensor, like: Tensor) -> Tensor:
    """Returns one value for each member, in a shape that broadcasts over the members of `like`."""
    return values.reshape(-1, *[1] * (like.ndim - 1))
