"""Exact null distributions of rank statistics, ties included.

scipy's exact methods assume that no two values are equal, which scores of collapsed models often are. Here the
distribution is counted over all ways to deal the ranks that were seen, so ties need no correction. Above a size at
which counting takes long, the normal distribution with the variance of those same ranks stands in.
"""

import math

import numpy as np
import scipy
from jaxtyping import Float64, Int64

_MAX_COUNTED = 20_000_000
"""Counting takes as many additions: about a tenth of a second."""


def upper_tail_of_rank_sum(
    ours: Float64[np.ndarray, " seed"], theirs: Float64[np.ndarray, " other_seed"]
) -> tuple[float, bool]:
    """Returns the probability that the ranks of `ours` sum to at least what they do if all deals of the pooled values
    are equally likely (the one-sided Mann-Whitney test), and whether it is exact.
    """
    doubled = np.rint(2 * scipy.stats.rankdata(np.concatenate([ours, theirs]))).astype(np.int64)
    seen = int(doubled[: len(ours)].sum())
    if len(doubled) * len(ours) * int(doubled.sum()) <= _MAX_COUNTED:
        counts = _counts_of_subset_sums(doubled, len(ours))
        return float(counts[seen:].sum() / counts.sum()), True
    mean = len(ours) * float(doubled.mean())
    variance = len(ours) * len(theirs) * float(doubled.var(ddof=1)) / len(doubled)
    return _normal_tail(seen, mean, variance), False


def upper_tail_of_signed_ranks(differences: Float64[np.ndarray, " pair"]) -> tuple[float, bool]:
    """Returns the probability that the ranks of positive differences sum to at least what they do if every sign is a
    fair coin (the one-sided Wilcoxon test), and whether it is exact. Pairs without a difference are left out.
    """
    differing = differences[differences != 0]
    if not len(differing):
        return 1.0, True
    doubled = np.rint(2 * scipy.stats.rankdata(np.abs(differing))).astype(np.int64)
    seen = int(doubled[differing > 0].sum())
    if len(doubled) * int(doubled.sum()) <= _MAX_COUNTED:
        counts = np.zeros(int(doubled.sum()) + 1)
        counts[0] = 1.0
        for rank in doubled:
            counts[rank:] = counts[rank:] + counts[: len(counts) - rank]
        return float(counts[seen:].sum() / counts.sum()), True
    return _normal_tail(seen, float(doubled.sum()) / 2, float((doubled**2).sum()) / 4), False


def rank_sum_quantile(num_ours: int, num_theirs: int, tail: float) -> int:
    """Returns the largest k with P(U <= k - 1) <= tail for the Mann-Whitney U of values without ties; 0 if none."""
    pairs = num_ours * num_theirs
    ranks = np.arange(1, num_ours + num_theirs + 1)
    if len(ranks) * num_ours * int(ranks.sum()) <= _MAX_COUNTED:
        counts = _counts_of_subset_sums(ranks, num_ours)[num_ours * (num_ours + 1) // 2 :][: pairs + 1]
        return int(np.searchsorted(np.cumsum(counts / counts.sum()), tail, side="right"))
    deviation = math.sqrt(pairs * (num_ours + num_theirs + 1) / 12)
    return max(0, math.floor(pairs / 2 + deviation * float(scipy.stats.norm.ppf(tail))))


def _counts_of_subset_sums(ranks: Int64[np.ndarray, " rank"], size: int) -> Float64[np.ndarray, " sum"]:
    """Returns how many subsets of this size have each sum."""
    counts = np.zeros((size + 1, int(ranks.sum()) + 1))
    counts[0, 0] = 1.0
    for rank in ranks:
        # The right side is computed before anything is written, so each rank is taken at most once.
        counts[1:, rank:] = counts[1:, rank:] + counts[:-1, : counts.shape[1] - rank]
    return counts[size]


def _normal_tail(seen: int, mean: float, variance: float) -> float:
    """Returns P(S >= seen), with half a step of doubled ranks as the correction for continuity."""
    return float(scipy.stats.norm.sf((seen - 1 - mean) / math.sqrt(variance))) if variance > 0 else 1.0
