"""What the seeds of one setting say: their median, the best of several, and where one more seed would fall."""

import math

import numpy as np
import scipy

from unbraid.studies.statistics.samples import (
    NUM_RESAMPLES,
    Estimate,
    StatisticsError,
    Values,
    bootstrapped,
    check_level,
    checked,
)


def median(values: Values, *, level: float = 0.95, seed: int = 0, num_resamples: int = NUM_RESAMPLES) -> Estimate:
    """Returns the median over seeds, with a percentile interval over resampled seeds.

    With fewer than six seeds the interval is too short: resamples never leave the range of the values.
    """
    return bootstrapped(
        checked(values),
        lambda rows: np.median(rows, axis=1),
        stream="median",
        level=level,
        seed=seed,
        num_resamples=num_resamples,
    )


def best_of(
    values: Values,
    num_seeds: int,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
) -> Estimate:
    """Returns the best value to expect from `num_seeds` seeds: the mean of the best over all choices of so many of
    these values, with an interval over resampled seeds.

    A paper that prints its best of ten models is compared with `best_of(values, 10)`, not with the best of all.
    """
    array = checked(values)
    if not 1 <= num_seeds <= len(array):
        raise StatisticsError(
            f"The best of {num_seeds} seeds was asked for, of {len(array)}; expected 1 to {len(array)}."
        )
    sign = 1.0 if higher_is_better else -1.0
    # The value at rank i (from 0) of n is the best of a choice of k in C(i, k - 1) of C(n, k) choices.
    shares = np.array([math.comb(i, num_seeds - 1) / math.comb(len(array), num_seeds) for i in range(len(array))])
    return bootstrapped(
        array,
        lambda rows: sign * (np.sort(sign * rows, axis=1) @ shares),
        stream="best",
        level=level,
        seed=seed,
        num_resamples=num_resamples,
    )


def prediction_interval(
    values: Values, *, level: float = 0.95, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float]:
    """Returns the interval in which one more seed falls with probability `level` if seeds are normally distributed:
    mean ± t s sqrt(1 + 1/n), cut at the bounds of the score.
    """
    check_level(level)
    array = checked(values, at_least=2)
    half = scipy.stats.t.ppf((1 + level) / 2, len(array) - 1) * array.std(ddof=1) * math.sqrt(1 + 1 / len(array))
    return max(bounds[0], float(array.mean() - half)), min(bounds[1], float(array.mean() + half))
