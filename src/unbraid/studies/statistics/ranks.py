"""Rank tests of two groups of seeds, and of pairs. Ties share their mean rank, and every arrangement counts."""

import numpy as np
import scipy

from unbraid.studies.statistics.arrangements import groupings, signs, tails
from unbraid.studies.statistics.measurement import Measurement, StatisticsError, Values, checked, inverted, rounded


def mann_whitney(ours: Values, theirs: Values, *, is_ratio: bool = False) -> Measurement:
    """Measures by how much `ours` lie above `theirs`, or by which factor: the Hodges-Lehmann estimate and the test of
    Mann and Whitney (1947).

    The test at a border moves `theirs` by it, or multiplies them, so it assumes two distributions of one shape.
    """
    a, b = checked(ours, "values of the first side"), checked(theirs, "values of the second side")
    smallest = min(a.min(), b.min())
    if is_ratio and smallest <= 0:
        raise StatisticsError(f"The smallest value is {smallest:g}; expected values above 0 for a ratio.")
    is_ours = (groupings((len(a), len(b))) == 0).astype(np.float64)

    def test(border: float) -> tuple[float, float]:
        moved = np.concatenate([a, b * max(border, 0.0)] if is_ratio else [a - border, b])
        return tails(is_ours @ scipy.stats.rankdata(rounded(moved, a, b, border)))

    pairs = (np.divide.outer(a, b) if is_ratio else np.subtract.outer(a, b)).ravel()

    def limits() -> tuple[float, float]:
        low, high = inverted(test, pairs)
        return (max(low, 0.0), high) if is_ratio else (low, high)

    return Measurement(float(np.median(pairs)), (len(a), len(b)), test, limits)


def signed_rank(differences: Values) -> Measurement:
    """Measures where differences of pairs lie: the Hodges-Lehmann estimate and the signed-rank test of Wilcoxon (1945).

    It assumes that they are symmetric about their median. Pairs without a difference from the border are left out.
    """
    given = checked(differences, "differences")
    sign = signs(len(given))

    def test(border: float) -> tuple[float, float]:
        rest = rounded(given - border, given, border)
        ranks = np.zeros(len(rest))
        ranks[rest != 0] = scipy.stats.rankdata(np.abs(rest[rest != 0]))
        return tails(sign @ (np.sign(rest) * ranks))

    means = np.add.outer(given, given)[np.triu_indices(len(given))] / 2
    return Measurement(float(np.median(means)), (len(given),), test, lambda: inverted(test, means))
