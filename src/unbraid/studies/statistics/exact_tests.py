"""Exact tests of ranks and counts, adjustment of p-values for multiple testing, and the required number of seeds."""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from unbraid.studies.statistics.arrangements import groupings, signs, tails
from unbraid.studies.statistics.measurement import Measurement, StatisticsError, Values, checked, inverted, scaled


def mann_whitney(ours: Values, theirs: Values, *, is_ratio: bool = False) -> Measurement:
    """Computes the Hodges-Lehmann estimate of the difference (or ratio) of `ours` and `theirs`.

    The test is the rank test of Mann and Whitney (1947), after `theirs` is shifted (or multiplied) by the border. It
    assumes two distributions of the same shape.
    """
    a, b = checked(ours, "values of the first side"), checked(theirs, "values of the second side")
    smallest = min(a.min(), b.min())
    if is_ratio and smallest <= 0:
        raise StatisticsError(f"Expected values above 0 for a ratio, got {smallest:g}. Use a difference instead.")
    is_ours = (groupings((len(a), len(b))) == 0).astype(np.float64)

    def test(border: float) -> tuple[float, float]:
        moved = np.concatenate([a, b * max(border, 0.0)] if is_ratio else [a - border, b])
        return tails(is_ours @ scipy.stats.rankdata(scaled(moved, a, b, border)))

    pairs = (np.divide.outer(a, b) if is_ratio else np.subtract.outer(a, b)).ravel()

    def limits() -> tuple[float, float]:
        low, high = inverted(test, pairs)
        return (max(low, 0.0), high) if is_ratio else (low, high)

    return Measurement(float(np.median(pairs)), (len(a), len(b)), test, limits)


def signed_rank(differences: Values) -> Measurement:
    """Computes the Hodges-Lehmann estimate of paired differences, with the signed-rank test of Wilcoxon (1945).

    The test assumes differences that are symmetric about their median. Differences equal to the border are left out.
    """
    given = checked(differences, "differences")
    sign = signs(len(given))

    def test(border: float) -> tuple[float, float]:
        rest = scaled(given - border, given, border)
        ranks = np.zeros(len(rest))
        ranks[rest != 0] = scipy.stats.rankdata(np.abs(rest[rest != 0]))
        return tails(sign @ (np.sign(rest) * ranks))

    means = np.add.outer(given, given)[np.triu_indices(len(given))] / 2
    return Measurement(float(np.median(means)), (len(given),), test, lambda: inverted(test, means))


def sign_test(values: Values) -> Measurement:
    """Computes the median over seeds, with the sign test. The limits of the interval are order statistics."""
    array = checked(values)

    def test(border: float) -> tuple[float, float]:
        above, below = int((array > border).sum()), int((array < border).sum())
        return tuple(float(scipy.stats.binom.sf(count - 1, len(array), 0.5)) for count in (above, below))  # type: ignore[return-value]

    return Measurement(float(np.median(array)), (len(array),), test, lambda: inverted(test, array))


def binomial(num_inside: int, num_seeds: int) -> Measurement:
    """Computes the share `num_inside / num_seeds`, with the exact binomial test and the Clopper-Pearson interval."""
    if not 0 <= num_inside <= num_seeds or num_seeds < 1:
        raise StatisticsError(
            f"Expected `num_inside` from 0 to `num_seeds` >= 1, got {num_inside} of {num_seeds}. Count the seeds again."
        )

    def test(border: float) -> tuple[float, float]:
        share = min(max(border, 0.0), 1.0)
        above = scipy.stats.binom.sf(num_inside - 1, num_seeds, share)
        return float(above), float(scipy.stats.binom.cdf(num_inside, num_seeds, share))

    def limits() -> tuple[float, float]:
        interval = scipy.stats.binomtest(num_inside, num_seeds).proportion_ci(0.95, method="exact")
        return float(interval.low), float(interval.high)

    return Measurement(num_inside / num_seeds, (num_seeds,), test, limits)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns p-values adjusted for multiple testing (Holm, Scandinavian Journal of Statistics 1979).

    Rejection at adjusted p <= 0.05 limits the family-wise error rate to 5 %, even if the tests are dependent.
    """
    array = np.asarray(p_values, dtype=np.float64)
    if not ((array >= 0) & (array <= 1)).all():
        raise StatisticsError(f"Expected p-values from 0 to 1, got {[float(p) for p in array]}. Replace NaN by 1.")
    order = np.argsort(array, kind="stable")
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(np.maximum.accumulate(array[order] * np.arange(len(array), 0, -1)), 1.0)
    return [float(p) for p in adjusted]


def seeds_needed(ours: Values, theirs: Values, *, level: float = 0.05, power: float = 0.8) -> int | None:
    """Estimates the number of seeds per setting for a one-sided Mann-Whitney test of `ours` > `theirs`.

    Uses the normal approximation of Noether (JASA 1987), with the probability that a seed of `ours` exceeds a seed of
    `theirs` estimated from these values. Returns None if this probability is at most one half. The result is at least
    the number of seeds with which the exact test can be significant.
    """
    if not 0 < level < 1 or not 0 < power < 1:
        raise StatisticsError(f"Expected level and power between 0 and 1, got {level} and {power}. Pass 0.05 and 0.8.")
    a, b = checked(ours, "values of the first side"), checked(theirs, "values of the second side")
    excess = float(np.sign(np.subtract.outer(a, b)).mean()) / 2
    if excess <= 0:
        return None
    needed = (float(scipy.stats.norm.isf(level)) + float(scipy.stats.norm.ppf(power))) ** 2 / (6 * excess**2)
    fewest = next(count for count in range(1, 100) if 1 / math.comb(2 * count, count) <= level)
    return max(math.ceil(needed), fewest)
