"""Base class of optimizers."""

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
"""Tensor with a leading axis of fleet members."""


@final
@dataclass(frozen=True)
class StepSize:
    """Learning rates of the members at one step, a mask of the members that have not failed, and step constants."""

    learning_rate: Float[Tensor, " member"]
    alive: Bool[Tensor, " member"]
    constants: Mapping[str, Float[Tensor, "..."]]


@dataclass(frozen=True)
class Optimizer(Config, ABC):
    """Base class of optimizers: an update rule without tensors. The fleet stores the state of the optimizer.

    Members of a fleet may differ only in `learning_rate`, which can be a schedule.
    """

    learning_rate: Weight

    def __post_init__(self) -> None:
        """Checks that the learning rate is finite, not negative, and not always 0."""
        super().__post_init__()
        least, greatest = extremes(self.learning_rate)
        if not (math.isfinite(least) and math.isfinite(greatest) and least >= 0 < greatest):
            raise SpecError(
                f"{type(self).__name__}: learning_rate is {self.learning_rate}; expected a finite number > 0, or a "
                "schedule of numbers >= 0. Use e.g. 1e-3."
            )

    @property
    @abstractmethod
    def state(self) -> Mapping[str, float]:
        """Names and initial values of the state tensors for each weight tensor."""

    def step_constants(self, step: Int64[Tensor, ""]) -> dict[str, Float64[Tensor, "..."]]:
        """Returns constants that depend only on the step, counted from 1. The default is an empty dictionary."""
        return {}

    @abstractmethod
    def update_(self, weights: Stack, gradient: Stack, state: Mapping[str, Stack], step_size: StepSize) -> None:
        """Updates one weight tensor and its state in place.

        Failed members have a gradient and a learning rate of 0. Their state must not change.
        """


def over_members(values: Tensor, like: Tensor) -> Tensor:
    """Reshapes one value per member so that the values broadcast over the other axes of `like`."""
    return values.reshape(-1, *[1] * (like.ndim - 1))
