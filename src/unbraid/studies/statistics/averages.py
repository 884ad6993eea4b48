"""What averages over the seeds of several settings say together, with seeds resampled within each setting."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float64

from unbraid import sampling
from unbraid.studies.statistics.samples import (
    Estimate,
    StatisticsError,
    Values,
    check_level,
    checked,
    percentiles,
    resamples,
)

NUM_AVERAGED = 2_000

Points = Float64[np.ndarray, "resample setting 2"]
"""The averages of two scores of each setting; the first resample is what was seen."""


def averaged(
    groups: Mapping[str, Values], *, seed: int = 0, num_resamples: int = NUM_AVERAGED
) -> Float64[np.ndarray, "resample setting"]:
    """Returns the average of each setting: first as seen, then in lists of resampled seeds."""
    columns = []
    for name, values in groups.items():
        array = checked(values, f"values of {name}")
        drawn = resamples(array, seed, f"averages of {name}", num_resamples).mean(axis=1)
        columns.append(np.concatenate([[array.mean()], drawn]))
    return np.stack(columns, axis=1)


def averaged_pairs(
    groups: Mapping[str, tuple[Values, Values]], *, seed: int = 0, num_resamples: int = NUM_AVERAGED
) -> Points:
    """Returns the averages of two scores of each setting: first as seen, then of resampled seeds, each of which keeps
    both of its scores. A setting is resampled alike in every call, and independently of all others.
    """
    points = []
    for name, (x, y) in groups.items():
        if len(x) != len(y):
            raise StatisticsError(f"{name} has {len(x)} values of one score and {len(y)} of the other.")
        both = np.stack([checked(x, "values of the first score"), checked(y, "values of the second score")], axis=1)
        chosen = sampling.uniform((num_resamples, len(both)), seed, f"averages of pairs of {name}").numpy()
        drawn = both[np.minimum((chosen * len(both)).astype(np.int64), len(both) - 1)].mean(axis=1)
        points.append(np.concatenate([both.mean(axis=0)[None], drawn]))
    return np.stack(points, axis=1)


def correlations(points: Points) -> Float64[np.ndarray, " resample"]:
    """Returns Pearson's r over settings in each resample; NaN where a score does not vary."""
    if points.shape[1] < 3:
        raise StatisticsError(f"There are {points.shape[1]} settings; expected at least three to correlate.")
    centred = points - points.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=1)).prod(axis=1)
    products = centred.prod(axis=2).sum(axis=1)
    return np.divide(products, norms, out=np.full(len(points), np.nan), where=norms > 0)


def mean_height(points: Points, low: float, high: float, num_places: int = 50) -> Float64[np.ndarray, " resample"]:
    """Returns the mean, over this range of the first score, of the second one, between settings on straight lines."""
    places = np.linspace(low, high, num_places)
    return np.array([np.interp(places, *rows[np.argsort(rows[:, 0])].T).mean() for rows in points])


def estimated(resampled: Float64[np.ndarray, " resample"], level: float = 0.95) -> Estimate:
    """Returns the first number, which was seen, with the interval of the others."""
    check_level(level)
    others = resampled[1:][~np.isnan(resampled[1:])]
    if np.isnan(resampled[0]) or not len(others):
        raise StatisticsError("A score is the same in all settings, so there is no correlation.")
    return Estimate(float(resampled[0]), percentiles(others, level), level)
