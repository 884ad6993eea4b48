"""Schedules: hyperparameters that change over training.

Schedules depend on the `progress` of training, from 0 at the first step to 1 at the last, not on the number of steps.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from unbraid.config import Config
from unbraid.errors import SpecError


class Schedule(Config, ABC):
    """A hyperparameter value that changes over training."""

    @abstractmethod
    def at(self, progress: Float[Tensor, ""]) -> Float[Tensor, ""]: ...

    @abstractmethod
    def extremes(self) -> tuple[float, float]:
        """Returns the minimum and maximum value of the schedule."""

    @abstractmethod
    def affine(self, scale: float, shift: float) -> "Schedule":
        """Returns a schedule with the values `scale * value + shift`."""

    def _not_yet(self, other: Any) -> Tensor:
        raise SpecError(
            f"{self} is a schedule; expected a number. Evaluate the schedules of the objective first: "
            "objective.at(progress), with progress from 0 to 1."
        )

    # A fleet replaces schedules by their current values before a step.
    __mul__ = __rmul__ = __add__ = __radd__ = __sub__ = __rsub__ = _not_yet


Weight = float | Schedule
"""Hyperparameter: a constant number, or a schedule of numbers."""


@dataclass(frozen=True)
class Ramp(Schedule):
    """Transition from `start` (until progress `begin`) to `end` (from progress `finish` on)."""

    start: float
    end: float
    begin: float = 0.0
    finish: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.start) and math.isfinite(self.end) and 0 <= self.begin < self.finish <= 1):
            raise SpecError(
                f"Got {self}; expected finite numbers and 0 <= begin < finish <= 1. Give begin and finish as fractions "
                "of training: 0 is the first step, 1 the last step."
            )

    @abstractmethod
    def fraction_complete(self, share: Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Returns the fraction of the change from `start` to `end`, given the fraction of the time since `begin`."""

    @final
    def at(self, progress: Float[Tensor, ""]) -> Float[Tensor, ""]:
        share = ((progress - self.begin) / (self.finish - self.begin)).clamp(0.0, 1.0)
        return self.start + (self.end - self.start) * self.fraction_complete(share)

    @final
    def extremes(self) -> tuple[float, float]:
        return min(self.start, self.end), max(self.start, self.end)

    @final
    def affine(self, scale: float, shift: float) -> "Ramp":
        return replace(self, start=scale * self.start + shift, end=scale * self.end + shift)


@final
@dataclass(frozen=True)
class Linear(Ramp):
    """Linear ramp from `start` (until progress `begin`) to `end` (from progress `finish` on).

    Examples:
        >>> Linear(0.0, 4.0, finish=0.5).extremes()
        (0.0, 4.0)
    """

    def fraction_complete(self, share: Float[Tensor, ""]) -> Float[Tensor, ""]:
        return share


@final
@dataclass(frozen=True)
class Cosine(Ramp):
    """Cosine ramp from `start` to `end`: half a period of a cosine, with slope 0 at `begin` and `finish`."""

    def fraction_complete(self, share: Float[Tensor, ""]) -> Float[Tensor, ""]:
        return 0.5 * (1 - torch.cos(math.pi * share))


@final
@dataclass(frozen=True)
class Cyclic(Schedule):
    """Cyclic schedule that rises from `low` to `high` in each of `num_cycles` cycles.

    The value rises during the first fraction `rising` of each cycle and stays at `high` for the rest of the cycle.
    """

    low: float
    high: float
    num_cycles: int = 4
    rising: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_cycles < 1 or not 0 < self.rising <= 1 or not all(map(math.isfinite, (self.low, self.high))):
            raise SpecError(
                f"Got {self}; expected finite numbers, num_cycles >= 1 and 0 < rising <= 1. Change these fields, e.g. "
                "to Cyclic(0.0, 4.0, num_cycles=4, rising=0.5)."
            )

    def at(self, progress: Float[Tensor, ""]) -> Float[Tensor, ""]:
        within = torch.remainder(progress * self.num_cycles, 1.0)
        # Progress 1 is the end of the last cycle, not the start of another cycle.
        within = torch.where(progress >= 1, 1.0, within)
        return self.low + (self.high - self.low) * (within / self.rising).clamp(max=1.0)

    def extremes(self) -> tuple[float, float]:
        return min(self.low, self.high), max(self.low, self.high)

    def affine(self, scale: float, shift: float) -> "Cyclic":
        return replace(self, low=scale * self.low + shift, high=scale * self.high + shift)


def extremes(weight: Weight) -> tuple[float, float]:
    """Returns the minimum and maximum of a number or a schedule."""
    return weight.extremes() if isinstance(weight, Schedule) else (float(weight), float(weight))


def shifted(weight: Weight, by: float) -> Weight:
    """Adds a constant to a number or a schedule."""
    return weight.affine(1.0, by) if isinstance(weight, Schedule) else weight + by


def scaled(weight: Weight, by: float) -> Weight:
    """Multiplies a number or a schedule by a constant."""
    return weight.affine(by, 0.0) if isinstance(weight, Schedule) else weight * by


def value_at(weight: Weight, progress: Float[Tensor, ""]) -> Float[Tensor, ""] | float:
    """Returns the value of a schedule at this progress. Returns a number unchanged."""
    return weight.at(progress) if isinstance(weight, Schedule) else weight
