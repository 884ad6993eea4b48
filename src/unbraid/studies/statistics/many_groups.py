"""What the seeds of many settings say together: p-values that were many, trends, correlations, and who wins."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import scipy
from jaxtyping import Float64, Int64

from unbraid import sampling
from unbraid.studies.statistics.samples import (
    NUM_RESAMPLES,
    Estimate,
    StatisticsError,
    Values,
    checked,
    percentiles,
    resamples,
)


def holm(p_values: Sequence[float]) -> list[float]:
    """Returns the p-values adjusted for being many (Holm, Scandinavian Journal of Statistics 1979): rejecting those of
    at most 0.05 errs at all in at most 5 % of cases, whatever depends on what.
    """
    array = checked(p_values, "p-values", at_least=0)
    if ((array < 0) | (array > 1)).any():
        raise StatisticsError(f"The p-values {[float(p) for p in array]} were given; expected numbers from 0 to 1.")
    order = np.argsort(array, kind="stable")
    stepped = np.maximum.accumulate(array[order] * np.arange(len(array), 0, -1))
    adjusted = np.empty_like(array)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(p) for p in adjusted]


@final
@dataclass(frozen=True)
class Trend:
    """Whether values grow along an ordered setting: the p-value of the one-sided Jonckheere-Terpstra test by
    permutation, the share of pairs of seeds of different settings that are in order, the medians, and how many
    neighbouring medians fall.
    """

    p_value: float
    share_in_order: float
    medians: tuple[float, ...]
    num_inversions: int


def trend(groups: Sequence[Values], *, seed: int = 0, num_permutations: int = NUM_RESAMPLES) -> Trend:
    """Returns whether values grow from the first group to the last. For a falling trend give them in reverse order."""
    if len(groups) < 2:
        raise StatisticsError(f"There are {len(groups)} groups; expected at least two, in the order of their setting.")
    arrays = [checked(group, f"values of group {i}") for i, group in enumerate(groups, start=1)]
    labels = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    pooled = np.concatenate(arrays)
    signs = np.sign(np.subtract.outer(pooled, pooled))  # +1 where the first lies above
    keys = sampling.uniform((num_permutations, len(pooled)), seed, "permutations of a trend").numpy()
    seen = _order(signs, labels[None])[0]
    # The seen order counts among the permutations, so p is never 0.
    as_high = 1 + int((_order(signs, labels[np.argsort(keys, axis=1)]) >= seen - 1e-9).sum())
    num_pairs = int((np.subtract.outer(labels, labels) > 0).sum())
    medians = tuple(float(np.median(array)) for array in arrays)
    falls = sum(later < earlier for earlier, later in itertools.pairwise(medians))
    return Trend(as_high / (num_permutations + 1), float((seen / num_pairs + 1) / 2), medians, falls)


def _order(
    signs: Float64[np.ndarray, "seed seed"], labels: Int64[np.ndarray, "permutation seed"]
) -> Float64[np.ndarray, " permutation"]:
    """Returns how many pairs of different groups are in order, less those that are not, under each labelling."""
    totals = np.zeros(len(labels))
    for group in range(1, int(labels.max()) + 1):
        is_later, is_earlier = (labels == group).astype(np.float64), (labels < group).astype(np.float64)
        totals += ((is_later @ signs) * is_earlier).sum(axis=1)
    return totals


@final
@dataclass(frozen=True)
class RankCorrelation:
    """The correlation of two scores over models of several settings, and over the settings' averages."""

    of_models: Estimate
    of_settings: Estimate


def correlation_over_settings(
    first: Sequence[Values],
    second: Sequence[Values],
    *,
    kind: Literal["spearman", "pearson"] = "spearman",
    resample_settings: bool = False,
    level: float = 0.95,
    seed: int = 0,
    num_resamples: int = 2_000,
) -> RankCorrelation:
    """Returns how two scores of the same models go together. `first[i][j]` and `second[i][j]` are of seed j of setting
    i. Seeds are resampled within each setting; settings as well if they are a sample of those one might have tried.
    """
    pairs = [_paired(x, y) for x, y in zip(first, second, strict=True)]
    if len(pairs) < 3:
        raise StatisticsError(f"There are {len(pairs)} settings; expected at least three to correlate.")
    for which, values in zip(("first", "second"), np.concatenate(pairs, axis=1), strict=True):
        if bool((values == values[0]).all()):
            raise StatisticsError(f"The {which} score is {values[0]:g} for every model; expected one that differs.")
    resampled = np.concatenate(
        [_correlations(drawn, kind) for drawn in _resampled(pairs, resample_settings, seed, num_resamples)], axis=1
    )
    whole = _correlations([pair[:, None] for pair in pairs], kind)[:, 0]
    return RankCorrelation(
        *(
            Estimate(float(value), percentiles(found[~np.isnan(found)], level), level)
            for value, found in zip(whole, resampled, strict=True)
        )
    )


def _paired(first: Values, second: Values) -> Float64[np.ndarray, "2 _"]:
    """Returns both scores of a setting's models. Raises if some models have one of them only."""
    if len(first) != len(second):
        raise StatisticsError(
            f"A setting has {len(first)} values of one score and {len(second)} of the other; expected both of each "
            "model."
        )
    return np.stack([checked(first, "values of the first score"), checked(second, "values of the second score")])


def _resampled(
    pairs: list[Float64[np.ndarray, "2 _"]], resample_settings: bool, seed: int, num_resamples: int
) -> Iterator[list[Float64[np.ndarray, "2 resample _"]]]:
    """Yields both scores of resampled models, setting by setting, of all resamples at once whose settings have as many
    models. The draws of a resample do not depend on how many resamples there are in all.
    """
    num_settings, num_models = len(pairs), np.array([pair.shape[1] for pair in pairs])
    most = int(num_models.max())
    padded = np.stack([np.pad(pair, ((0, 0), (0, most - pair.shape[1]))) for pair in pairs], axis=1)
    seeds = sampling.uniform((num_resamples, num_settings, most), seed, "seeds within settings").numpy()
    chosen = sampling.uniform((num_resamples, num_settings), seed, "settings").numpy()
    listed = np.broadcast_to(np.arange(num_settings), chosen.shape)
    settings = (chosen * num_settings).astype(np.int64) if resample_settings else listed
    sizes, alike = np.unique(num_models[settings], axis=0, return_inverse=True)
    for which, size in enumerate(sizes):
        rows = np.flatnonzero(alike == which)
        yield [
            padded[:, settings[rows, place][:, None], (seeds[rows, place, :count] * count).astype(np.int64)]
            for place, count in enumerate(size)
        ]


def _correlations(drawn: list[Float64[np.ndarray, "2 resample _"]], kind: str) -> Float64[np.ndarray, "2 resample"]:
    """Returns the correlation over all models and over the settings' means; NaN where a score does not vary."""
    means = np.stack([pair.mean(axis=2) for pair in drawn], axis=2)
    return np.stack([_correlation(np.concatenate(drawn, axis=2), kind), _correlation(means, kind)])


def _correlation(points: Float64[np.ndarray, "2 resample point"], kind: str) -> Float64[np.ndarray, " resample"]:
    if kind == "spearman":
        points = scipy.stats.rankdata(points, axis=2)
    centred = points - points.mean(axis=2, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=2)).prod(axis=0)
    return np.where(norms > 0, (centred[0] * centred[1]).sum(axis=1) / np.where(norms > 0, norms, 1.0), np.nan)


def chances_to_win(
    groups: Mapping[str, Values],
    *,
    higher_is_better: bool = True,
    seed: int = 0,
    num_resamples: int = NUM_RESAMPLES,
) -> dict[str, float]:
    """Returns for each setting the share of resamples of all seeds in which its median is the best. Ties are shared."""
    if not groups:
        raise StatisticsError("There are no settings to compare; expected at least one with its values.")
    sign = 1.0 if higher_is_better else -1.0
    medians = np.stack(
        [
            np.median(resamples(checked(values, f"values of {name}"), seed, f"setting {name}", num_resamples), axis=1)
            for name, values in groups.items()
        ]
    )
    is_best = (sign * medians == (sign * medians).max(axis=0)).astype(np.float64)
    shares = (is_best / is_best.sum(axis=0)).mean(axis=1)
    return {name: float(share) for name, share in zip(groups, shares, strict=True)}
