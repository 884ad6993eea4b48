"""The base class of optimizers."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from unbraid.config.config import Config
from unbraid.config.schedule import Weight, extremes
from unbraid.errors import SpecError

Stack = Float[Tensor, "member ..."]
"""A tensor with a row for each member."""


@final
@dataclass(frozen=True)
class StepSize:
    """Learning rates of the members at one step, a mask of live members, and the constants of the step."""

    learning_rate: Float[Tensor, " member"]
    alive: Bool[Tensor, " member"]
    constants: Mapping[str, Float[Tensor, "..."]]


@dataclass(frozen=True)
class Optimizer(Config, ABC):
    """An update rule. It holds no tensors: the fleet holds the state, and `update_` changes the state in place.

    Members of a fleet may differ only in `learning_rate`, which may follow a schedule.
    """

    learning_rate: Weight

    def __post_init__(self) -> None:
        """Raises if the learning rate is 0 throughout, negative or not finite."""
        super().__post_init__()
        least, greatest = extremes(self.learning_rate)
        if not (math.isfinite(least) and math.isfinite(greatest) and least >= 0 < greatest):
            raise SpecError(
                f"{type(self).__name__}: learning_rate is {self.learning_rate}; expected a positive, finite number "
                "such as 1e-3, or a schedule from 0 up."
            )

    @property
    @abstractmethod
    def state(self) -> Mapping[str, float]:
        """Names and initial values of the state tensors of each weight."""

    def step_constants(self, step: Int64[Tensor, ""]) -> dict[str, Float64[Tensor, "..."]]:
        """Returns constants that depend only on the step, counted from 1. By default, there are none."""
        return {}

    @abstractmethod
    def update_(self, weights: Stack, gradient: Stack, state: Mapping[str, Stack], step_size: StepSize) -> None:
        """Updates one weight tensor and its state in place.

        Failed members have a gradient and a learning rate of 0. Their state must not change.
        """


def over_members(values: Tensor, like: Tensor) -> Tensor:
    """Returns one value per member, in a shape that broadcasts over the members of `like`."""
    return values.reshape(-1, *[1] * (like.ndim - 1))
