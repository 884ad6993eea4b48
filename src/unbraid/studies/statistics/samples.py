"""What all statistics over seeds share: values that are checked, estimates with intervals, and resamples of seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64

from unbraid import sampling
from unbraid.errors import UnbraidError

Values = Sequence[float] | np.ndarray
"""One number per seed."""

Resamples = Float64[np.ndarray, "resample seed"]

NUM_RESAMPLES = 10_000


@final
class StatisticsError(UnbraidError):
    """Raised for values from which a statistic cannot be computed."""


@final
@dataclass(frozen=True)
class Estimate:
    """A number with the interval that holds the true one with probability `level`."""

    value: float
    interval: tuple[float, float]
    level: float = 0.95


def checked(values: Values, what: str = "values", at_least: int = 1) -> Float64[np.ndarray, " seed"]:
    """Returns the values as an array. Raises if there are too few, or if one is not a finite number."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or len(array) < at_least:
        raise StatisticsError(
            f"The {what} have the shape {array.shape}; expected a list of at least {at_least} numbers, one per seed. "
            "Train more seeds."
        )
    if not np.isfinite(array).all():
        raise StatisticsError(
            f"{int((~np.isfinite(array)).sum())} of {len(array)} {what} are not finite. Leave out the seeds without a "
            "score, and say how many they are."
        )
    return array


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise StatisticsError(f"The level is {level}; expected a number between 0 and 1, such as 0.95.")


def resamples(values: Float64[np.ndarray, " seed"], seed: int, stream: str, num_resamples: int) -> Resamples:
    """Returns lists of as many values, drawn from them with replacement. Streams are independent of each other."""
    points = sampling.uniform((num_resamples, len(values)), seed, f"bootstrap of seeds, {stream}").numpy()
    return values[np.minimum((points * len(values)).astype(np.int64), len(values) - 1)]


def percentiles(resampled: Float64[np.ndarray, " resample"], level: float) -> tuple[float, float]:
    """Returns the interval that holds the middle share `level` of the resampled statistics."""
    check_level(level)
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrapped(
    values: Float64[np.ndarray, " seed"],
    statistic: Callable[[Resamples], Float64[np.ndarray, " resample"]],
    *,
    stream: str,
    level: float,
    seed: int,
    num_resamples: int,
) -> Estimate:
    """Returns a statistic of each row with its percentile interval over resampled seeds."""
    resampled = statistic(resamples(values, seed, stream, num_resamples))
    return Estimate(float(statistic(values[None])[0]), percentiles(resampled, level), level)
