"""Data sets that hold every combination of their factors, in order."""

import numpy as np
from jaxtyping import Int64

from unbraid.datasets.dataset import Factor


def grid_rows(factors: tuple[Factor, ...]) -> Int64[np.ndarray, "image factor"]:
    """Returns every combination of value indices, the last factor changing fastest."""
    sizes = [factor.size for factor in factors]
    return np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T.copy()
