"""Whether one setting lies above another when both were trained with the same seeds."""

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from unbraid.studies.statistics.exact_ranks import upper_tail_of_signed_ranks
from unbraid.studies.statistics.samples import NUM_RESAMPLES, Estimate, StatisticsError, Values, bootstrapped, checked


@final
@dataclass(frozen=True)
class PairedComparison:
    """Whether the first of each pair lies above the second.

    `wilcoxon` and `sign` are one-sided p-values: the first weighs differences by their rank and supposes that they are
    symmetric about their median, the second counts signs alone. `difference` is the median difference.
    """

    wilcoxon: float
    sign: float
    difference: Estimate
    num_higher: int
    num_lower: int


def compare_pairs(
    ours: Values, theirs: Values, *, level: float = 0.95, seed: int = 0, num_resamples: int = NUM_RESAMPLES
) -> PairedComparison:
    """Returns whether `ours` lie above `theirs`, seed by seed. Pairs without a difference count for neither."""
    a, b = checked(ours, "values of the first setting"), checked(theirs, "values of the second setting")
    if len(a) != len(b):
        raise StatisticsError(
            f"There are {len(a)} and {len(b)} values; expected one of each per seed, in the same order. Use `compare` "
            "for settings with seeds of their own."
        )
    differences = a - b
    num_higher, num_lower = int((differences > 0).sum()), int((differences < 0).sum())
    num_differing = num_higher + num_lower
    sign = scipy.stats.binomtest(num_higher, num_differing, alternative="greater").pvalue if num_differing else 1.0
    difference = bootstrapped(
        differences,
        lambda rows: np.median(rows, axis=1),
        stream="pairs",
        level=level,
        seed=seed,
        num_resamples=num_resamples,
    )
    return PairedComparison(upper_tail_of_signed_ranks(differences)[0], float(sign), difference, num_higher, num_lower)
