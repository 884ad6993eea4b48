"""Several tests together: p-values adjusted for their number, and how many seeds a test needs."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from unbraid.studies.statistics.measurement import StatisticsError, Values, checked


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values adjusted for their number (Holm, Scandinavian Journal of Statistics 1979).

    To reject those of at most 0.05 errs at all in at most 5 % of families, however the tests depend on each other.
    """
    array = np.asarray(p_values, dtype=np.float64)
    if not ((array >= 0) & (array <= 1)).all():
        raise StatisticsError(f"The p-values {[float(p) for p in array]} were given; expected numbers from 0 to 1.")
    order = np.argsort(array, kind="stable")
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(np.maximum.accumulate(array[order] * np.arange(len(array), 0, -1)), 1.0)
    return [float(p) for p in adjusted]


def seeds_needed(ours: Values, theirs: Values, *, level: float = 0.05, power: float = 0.8) -> int | None:
    """Returns how many seeds per side would show, with this power, that `ours` lie above `theirs`, if they do as often
    as here. None where they lie above in at most half of the pairs.

    The formula of Noether (JASA 1987) rests on a normal distribution. The result is never fewer than the exact test
    needs for two sides that do not overlap.
    """
    if not 0 < level < 1 or not 0 < power < 1:
        raise StatisticsError(f"The level is {level} and the power {power}; expected numbers between 0 and 1.")
    a, b = checked(ours, "values of the first side"), checked(theirs, "values of the second side")
    excess = float(np.sign(np.subtract.outer(a, b)).mean()) / 2
    if excess <= 0:
        return None
    needed = (float(scipy.stats.norm.isf(level)) + float(scipy.stats.norm.ppf(power))) ** 2 / (6 * excess**2)
    fewest = next(count for count in range(1, 100) if 1 / math.comb(2 * count, count) <= level)
    return max(math.ceil(needed), fewest)
