"""Schedules: hyperparameters that change over training.

`progress` runs from 0 at the first step to 1 at the last, so that a schedule means the same for short and long runs.
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
        """Returns the schedule of `scale * number + shift`."""

    def _not_yet(self, other: Any) -> Tensor:
        raise SpecError(
            f"{self} is a schedule; expected a number. Take its value at one moment: objective.at(progress), with a "
            "progress from 0 to 1."
        )

    # A fleet replaces schedules by their values before it computes.
    __mul__ = __rmul__ = __add__ = __radd__ = __sub__ = __rsub__ = _not_yet


Weight = float | Schedule
"""A hyperparameter: a number, or a schedule of one."""


@dataclass(frozen=True)
class Ramp(Schedule):
    """Transition from `start` (until the moment `begin`) to `end` (from the moment `finish` on)."""

    start: float
    end: float
    begin: float = 0.0
    finish: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.start) and math.isfinite(self.end) and 0 <= self.begin < self.finish <= 1):
            raise SpecError(
                f"{type(self).__name__}: from {self.start} at {self.begin} to {self.end} at {self.finish}; expected "
                "finite numbers, and moments with 0 <= begin < finish <= 1 (0 is the first step, 1 the last)."
            )

    @abstractmethod
    def fraction_complete(self, share: Float[Tensor, ""]) -> Float[Tensor, ""]:
        """Returns the fraction of the change from `start` to `end` after this fraction of the time."""

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
    """Linear ramp from `start` (until the moment `begin`) to `end` (from the moment `finish` on).

    Examples:
        >>> Linear(0.0, 4.0, finish=0.5).extremes()
        (0.0, 4.0)
    """

    def fraction_complete(self, share: Float[Tensor, ""]) -> Float[Tensor, ""]:
        return share


@final
@dataclass(frozen=True)
class Cosine(Ramp):
    """Cosine ramp: `Linear` with half a period of a cosine instead of a line, with slope 0 at both ends."""

    def fraction_complete(self, share: Float[Tensor, ""]) -> Float[Tensor, ""]:
        return 0.5 * (1 - torch.cos(math.pi * share))


@final
@dataclass(frozen=True)
class Cyclic(Schedule):
    """Cyclic schedule that rises from `low` to `high` in each of `num_cycles` cycles.

    Each cycle rises during its fraction `rising` and stays at `high` for the rest.
    """

    low: float
    high: float
    num_cycles: int = 4
    rising: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.num_cycles < 1 or not 0 < self.rising <= 1 or not all(map(math.isfinite, (self.low, self.high))):
            raise SpecError(
                f"Cyclic: low {self.low}, high {self.high}, num_cycles {self.num_cycles}, rising {self.rising}; "
                "expected finite numbers, one cycle or more, and a share above 0 and at most 1."
            )

    def at(self, progress: Float[Tensor, ""]) -> Float[Tensor, ""]:
        within = torch.remainder(progress * self.num_cycles, 1.0)
        # The last moment is the end of the last cycle, not the beginning of one more.
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
    """Returns a number or a schedule, plus a constant."""
    return weight.affine(1.0, by) if isinstance(weight, Schedule) else weight + by


def scaled(weight: Weight, by: float) -> Weight:
    """Returns a number or a schedule, times a constant."""
    return weight.affine(by, 0.0) if isinstance(weight, Schedule) else weight * by


def value_at(weight: Weight, progress: Float[Tensor, ""]) -> Float[Tensor, ""] | float:
    """Returns a number unchanged, or the value of a schedule at this moment."""
    return weight.at(progress) if isinstance(weight, Schedule) else weight
