"""Tests of counts: how many seeds lie above a border, or inside a range. They assume nothing of the distribution."""

import numpy as np
import scipy

from unbraid.studies.statistics.measurement import Measurement, StatisticsError, Values, checked, inverted


def sign_test(values: Values) -> Measurement:
    """Measures the median of the seeds. At a border it counts the seeds on either side (the sign test); the interval
    ends at order statistics.
    """
    array = checked(values)

    def test(border: float) -> tuple[float, float]:
        above, below = int((array > border).sum()), int((array < border).sum())
        return tuple(float(scipy.stats.binom.sf(count - 1, len(array), 0.5)) for count in (above, below))  # type: ignore[return-value]

    return Measurement(float(np.median(array)), (len(array),), test, lambda: inverted(test, array))


def binomial(num_inside: int, num_seeds: int) -> Measurement:
    """Measures the share of seeds that have a property: the exact test, with the interval of Clopper and Pearson."""
    if not 0 <= num_inside <= num_seeds or num_seeds < 1:
        raise StatisticsError(
            f"{num_inside} of {num_seeds} seeds were given; expected at least one seed, and at most all."
        )

    def test(border: float) -> tuple[float, float]:
        share = min(max(border, 0.0), 1.0)
        above = scipy.stats.binom.sf(num_inside - 1, num_seeds, share)
        return float(above), float(scipy.stats.binom.cdf(num_inside, num_seeds, share))

    def limits() -> tuple[float, float]:
        interval = scipy.stats.binomtest(num_inside, num_seeds).proportion_ci(0.95, method="exact")
        return float(interval.low), float(interval.high)

    return Measurement(num_inside / num_seeds, (num_seeds,), test, limits)
