"""Medians of several settings in resampled seeds: what any function of them may be."""

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float64

from unbraid.studies.statistics.samples import (
    NUM_RESAMPLES,
    Estimate,
    Values,
    checked,
    percentiles,
    resamples,
)

Medians = Mapping[str, Float64[np.ndarray, " resample"]]


def resampled_medians(groups: Mapping[str, Values], *, seed: int = 0, num_resamples: int = NUM_RESAMPLES) -> Medians:
    """Returns by its name the medians of each group in lists of resampled seeds. Groups are resampled independently."""
    return {
        name: np.median(
            resamples(checked(values, f"values of {name}"), seed, f"medians of {name}", num_resamples), axis=1
        )
        for name, values in groups.items()
    }


def of_medians(
    groups: Mapping[str, Values],
    function: Callable[[Medians], Float64[np.ndarray, " resample"]],
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Returns a function of the medians of groups, such as the ratio of two, with its interval over resampled seeds."""
    seen = {name: np.array([np.median(checked(values, f"values of {name}"))]) for name, values in groups.items()}
    resampled = function(resampled_medians(groups, seed=seed))
    return Estimate(float(function(seen)[0]), percentiles(resampled, level), level)
