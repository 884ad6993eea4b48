"""Rank correlation of two scores of the same models, and slope of a score over the settings of a sweep."""

import functools
import math
from collections.abc import Sequence

import numpy as np
import scipy
from jaxtyping import Float64

from unbraid._internal import row_draws
from unbraid.studies.statistics.arrangements import NUM_DRAWN, groupings, pairings, tails
from unbraid.studies.statistics.measurement import Measurement, StatisticsError, Values, checked, inverted, scaled


def spearman(first: Values, second: Values) -> Measurement:
    """Computes Spearman's rank correlation of two scores of the same models, with a permutation test.

    At a border other than 0, the null distribution is the rank correlation in 9,999 samples of the same size. They are
    drawn from a bivariate normal distribution whose rank correlation is the border.
    """
    x, y = checked(first, "values of the first score"), checked(second, "values of the second score")
    if len(x) != len(y):
        raise StatisticsError(f"Expected two scores per model, got {len(x)} and {len(y)} values. Pass equal numbers.")
    ranks = [scipy.stats.rankdata(values) for values in (x, y)]
    if len(x) < 2 or any(np.ptp(each) == 0 for each in ranks):
        raise StatisticsError(f"Expected different scores of two or more models, got {x} and {y}. Use another metric.")
    centered = [each - each.mean() for each in ranks]
    value = float(np.corrcoef(ranks[0], ranks[1])[0, 1])

    def test(border: float) -> tuple[float, float]:
        if border == 0:
            return tails(centered[1][pairings(len(x))] @ centered[0])
        return tails(np.concatenate([[value], _of_normal_pairs(len(x), min(max(border, -1.0), 1.0))]))

    def limits() -> tuple[float, float]:
        error = math.sqrt((1 + value**2 / 2) / max(len(x) - 3, 1e-9))  # Bonett & Wright, Psychometrika 2000
        middle, half = math.atanh(min(max(value, -1 + 1e-12), 1 - 1e-12)), 1.959964 * error
        return math.tanh(middle - half), math.tanh(middle + half)

    return Measurement(value, (len(x),), test, limits)


def slope(groups: Sequence[Values], at: Sequence[float] = ()) -> Measurement:
    """Computes the Theil-Sen slope of values over groups (Theil, 1950; Sen, 1968).

    `at` has the positions of the groups, by default 0, 1, 2, ... The test is a permutation test of the rank correlation
    of values and positions. A line whose slope is the border is first subtracted from the values.
    """
    arrays = [checked(group, f"values of group {place}") for place, group in enumerate(groups, start=1)]
    positions = np.asarray(at if len(at) else range(len(arrays)), dtype=np.float64)
    if len(arrays) < 2 or len(positions) != len(arrays) or not (np.diff(positions) > 0).all():
        raise StatisticsError(
            f"Expected 2 or more groups at increasing positions, got {len(arrays)} at {positions.tolist()}. Sort them."
        )
    sizes = tuple(len(array) for array in arrays)
    x, y = np.repeat(positions, sizes), np.concatenate(arrays)
    place = scipy.stats.rankdata(x)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    places = place[starts][groupings(sizes)]
    places -= place.mean()

    def test(border: float) -> tuple[float, float]:
        return tails(places @ scipy.stats.rankdata(scaled(y - border * x, y, border * x)))

    earlier, later = np.nonzero(np.subtract.outer(x, x) < 0)
    slopes = (y[later] - y[earlier]) / (x[later] - x[earlier])
    return Measurement(float(np.median(slopes)), sizes, test, lambda: inverted(test, slopes))


@functools.lru_cache(maxsize=8)
def _of_normal_pairs(num_models: int, correlation: float) -> Float64[np.ndarray, " draw"]:
    """Returns the rank correlations of random normal samples of `num_models` pairs with this rank correlation."""
    first, second = (row_draws.randn((NUM_DRAWN, num_models), 0, f"{which} of pairs").numpy() for which in ("x", "y"))
    pearson = 2 * math.sin(math.pi * correlation / 6)  # of the normal distribution with this rank correlation
    rest = math.sqrt(max(0.0, 1 - pearson**2))
    ranks = [np.argsort(np.argsort(each, axis=1), axis=1) for each in (first, pearson * first + rest * second)]
    centered = [each - (num_models - 1) / 2 for each in ranks]
    return (centered[0] * centered[1]).sum(axis=1) * 12 / (num_models**3 - num_models)
