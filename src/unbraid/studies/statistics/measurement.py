"""Measurement: an estimate over seeds with one-sided hypothesis tests and a confidence interval."""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64

from unbraid.errors import UnbraidError

Values = Sequence[float] | Sequence[int] | np.ndarray
"""One number per seed."""

Test = Callable[[float], tuple[float, float]]
"""Maps a border to the p-values of "the quantity is at most the border" and "the quantity is at least the border"."""

TAIL = 0.025
"""The probability of each tail of a 95 % interval."""


@final
class StatisticsError(UnbraidError):
    """Error raised if a quantity cannot be computed from the given values."""


@final
@dataclass(frozen=True)
class Measurement:
    """An estimated `value`, its one-sided `test` at any border, and the number of seeds of each compared group.

    `limits` computes the 95 % confidence interval: all borders that neither test rejects at 2.5 %.
    """

    value: float
    num_seeds: tuple[int, ...]
    test: Test
    limits: Callable[[], tuple[float, float]]

    def p_above(self, border: float) -> float:
        """Returns the p-value of "the quantity is at most the border"."""
        return self.test(float(border))[0]

    def p_below(self, border: float) -> float:
        """Returns the p-value of "the quantity is at least the border"."""
        return self.test(float(border))[1]

    @functools.cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval, not adjusted for multiple testing."""
        return self.limits()


def inverted(test: Test, borders: Float64[np.ndarray, " border"]) -> tuple[float, float]:
    """Returns the confidence interval: all values that neither one-sided test rejects at 2.5 %.

    `borders` has every value at which a p-value may change. An end is infinite if no value beyond it is rejected.
    """
    steps = np.unique(borders)
    between = np.concatenate([[steps[0] - 1], (steps[1:] + steps[:-1]) / 2, [steps[-1] + 1]])
    above = _first(len(between), lambda place: test(float(between[place]))[0] > TAIL)
    below = _first(len(between), lambda place: test(float(between[len(between) - 1 - place]))[1] > TAIL)
    low = -math.inf if above == 0 else float(steps[min(above, len(steps)) - 1])
    high = math.inf if below == 0 else float(steps[max(0, len(steps) - below)])
    return low, high


def _first(count: int, is_kept: Callable[[int], bool]) -> int:
    """Returns the first index below `count` for which the monotonic `is_kept` is True, by bisection, else `count`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_kept(middle) else (middle + 1, high)
    return low


def checked(values: Values, what: str = "values") -> Float64[np.ndarray, " seed"]:
    """Returns the values as an array. Raises StatisticsError for an empty list or values that are not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise StatisticsError(f"Expected {what} of shape (seeds,), got {array.shape}. Pass one number per seed.")
    if not np.isfinite(array).all():
        raise StatisticsError(
            f"Expected finite {what}, got {int((~np.isfinite(array)).sum())} of {len(array)} that are not. Leave out "
            "seeds without a score, and report their number."
        )
    return array


def scaled(
    values: Float64[np.ndarray, "..."], *scales: Float64[np.ndarray, "..."] | float
) -> Float64[np.ndarray, "..."]:
    """Divides the values by the largest scale and rounds to 12 digits, so that equal values stay equal."""
    scale = max(float(np.abs(each).max()) for each in scales) or 1.0
    return np.round(values / scale, 12)
