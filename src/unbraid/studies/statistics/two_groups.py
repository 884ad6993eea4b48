"""Whether the seeds of one setting lie above those of another, by how much, or about where they do."""

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import scipy
from jaxtyping import Float64

from unbraid.studies.statistics.exact_ranks import rank_sum_quantile, upper_tail_of_rank_sum
from unbraid.studies.statistics.samples import (
    NUM_RESAMPLES,
    Estimate,
    StatisticsError,
    Values,
    check_level,
    checked,
    percentiles,
    resamples,
)


@final
@dataclass(frozen=True)
class Comparison:
    """Whether a group of seeds lies above another.

    `p_value` is that of the one-sided Mann-Whitney test, exact (ties included) where `is_exact`; `probability` is
    P(a > b) of a random seed of each, half of ties counted; `shift` is the Hodges-Lehmann estimate of a - b.
    """

    p_value: float
    is_exact: bool
    probability: Estimate
    shift: Estimate


def compare(ours: Values, theirs: Values, *, level: float = 0.95) -> Comparison:
    """Returns whether, how often and by how much `ours` lie above `theirs`.

    With ties the interval of the shift is conservative or nearly so: its limits are those for distinct values.
    """
    check_level(level)
    a, b = checked(ours, "values of the first group"), checked(theirs, "values of the second group")
    p_value, is_exact = upper_tail_of_rank_sum(a, b)
    return Comparison(p_value, is_exact, _probability(a, b, level), _shift(a, b, level))


def _shift(a: Float64[np.ndarray, " seed"], b: Float64[np.ndarray, " other_seed"], level: float) -> Estimate:
    """Returns the median of all differences, between the two differences that a rank test at this level just keeps."""
    differences = np.sort(np.subtract.outer(a, b).ravel())
    k = rank_sum_quantile(len(a), len(b), (1 - level) / 2)
    if k == 0:  # so few seeds that no limit can be excluded
        return Estimate(float(np.median(differences)), (-math.inf, math.inf), level)
    return Estimate(float(np.median(differences)), (float(differences[k - 1]), float(differences[-k])), level)


def _share_above(a: Float64[np.ndarray, " seed"], b: Float64[np.ndarray, " other_seed"]) -> float:
    """Returns the share of pairs in which the first lies above the second, half of ties counted."""
    return float((np.sign(np.subtract.outer(a, b)) + 1).mean() / 2)


def _probability(a: Float64[np.ndarray, " seed"], b: Float64[np.ndarray, " other_seed"], level: float) -> Estimate:
    """Returns P(a > b) with the score interval of Newcombe (Statistics in Medicine 2006, method 5), which has a length
    also where the groups are fully apart.
    """
    share = _share_above(a, b)
    z = float(scipy.stats.norm.ppf((1 + level) / 2))
    extra = (len(a) + len(b)) / 2 - 1

    def deviation(theta: float) -> float:
        spread = 1 + extra * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        return math.sqrt(theta * (1 - theta) * spread / (len(a) * len(b)))

    def limit(end: float) -> float:
        """Returns the value between the share and this end of [0, 1] that lies z deviations from the share."""
        if share == end:
            return end
        beside = share + 1e-12 * (end - share)  # at a share of 0 or 1 itself the deviation is 0
        return float(scipy.optimize.brentq(lambda theta: abs(theta - share) - z * deviation(theta), beside, end))

    return Estimate(share, (limit(0.0), limit(1.0)), level)


@final
@dataclass(frozen=True)
class Equivalence:
    """Whether two groups have about the same median: their `difference`, and what follows for the `margin`."""

    difference: Estimate
    margin: float
    verdict: Literal["equivalent", "different", "undecided"]


def equivalence(
    ours: Values,
    theirs: Values,
    margin: float,
    *,
    level: float = 0.90,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
) -> Equivalence:
    """Returns whether the interval of the difference of medians, over resampled seeds, lies within ± `margin`.

    An interval of 90 % makes it two one-sided tests at 5 %. Wholly outside is "different", anything else "undecided".
    """
    if not margin > 0:
        raise StatisticsError(f"The margin is {margin}; expected the largest difference that does not matter, above 0.")
    a, b = checked(ours, "values of the first group"), checked(theirs, "values of the second group")
    resampled = np.median(resamples(a, seed, "ours", num_resamples), axis=1) - np.median(
        resamples(b, seed, "theirs", num_resamples), axis=1
    )
    low, high = percentiles(resampled, level)
    difference = Estimate(float(np.median(a) - np.median(b)), (low, high), level)
    if -margin <= low and high <= margin:
        return Equivalence(difference, margin, "equivalent")
    return Equivalence(difference, margin, "different" if high < -margin or low > margin else "undecided")


def seeds_needed(ours: Values, theirs: Values, *, level: float = 0.05, power: float = 0.8) -> int | None:
    """Returns how many seeds per group would show, with this power, that `ours` lie above `theirs` (the one-sided
    Mann-Whitney test at this level), if P(a > b) is what it is here. None where it is at most 1/2.

    Noether's formula (JASA 1987), which rests on a normal distribution, and never fewer seeds than the exact test needs
    to see groups that are fully apart.
    """
    check_level(level)
    check_level(power)
    a, b = checked(ours, "values of the first group"), checked(theirs, "values of the second group")
    excess = _share_above(a, b) - 0.5
    if excess <= 0:
        return None
    needed = (float(scipy.stats.norm.isf(level)) + float(scipy.stats.norm.ppf(power))) ** 2 / (6 * excess**2)
    fewest = next(n for n in range(1, 100) if 1 / math.comb(2 * n, n) <= level)
    return max(math.ceil(needed), fewest)
