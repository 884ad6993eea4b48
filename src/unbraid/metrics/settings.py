"""The sizes of the settings of a metric."""

from dataclasses import fields
from typing import Any

import numpy as np

from unbraid.errors import SpecError
from unbraid.recipes import Recipe

# Beyond these a metric would run for days or out of memory: a slip of the hand, to be told at once.
LARGEST: dict[str, int] = {
    "seed": 2**63 - 1,
    "num_bins": 100_000,
    "normalise_bins": 100_000,
    "num_samples": 10**8,
    "num_train": 10**8,
    "num_test": 10**8,
    "num_trees": 10**5,
    "max_depth": 10**4,
    "pairs_per_point": 10**6,
    "batch_size": 10**6,
}


def check_sizes(metric: Recipe) -> None:
    """Refuses a seed out of range and an absurd size."""
    for field in fields(metric):
        check_size(type(metric).__name__, field.name, getattr(metric, field.name))


def check_size(name: str, setting: str, value: Any) -> None:
    """Refuse a seed out of range, and more of anything than there can be."""
    if not isinstance(value, int) or setting not in LARGEST:
        return
    if setting == "seed":
        check_seed(f"{name}: seed", value)
    elif value > LARGEST[setting]:
        raise SpecError(f"{name}: {setting} is {value}; expected at most {LARGEST[setting]:,}.")


def check_seed(where: str, seed: Any) -> None:
    """Refuse what cannot start the draws."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= LARGEST["seed"]:
        raise SpecError(f"{where} is {seed!r}; expected a whole number from 0 to 2**63 - 1.")


def sklearn_seed(seed: int) -> int:
    """The seed in 32 bits, which is all that scikit-learn takes."""
    return seed % 2**32
