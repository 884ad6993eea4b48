"""The computation that all functions of metrics share."""

from typing import Any

from unbraid.codes import Codes
from unbraid.functional.losses import Array
from unbraid.metrics import Metric, Score
from unbraid.metrics.evaluate import for_codes

Factors = Any
"""Values (image, factor): integers are discrete, floats continuous. Mappings and data frames name the factors."""


def score_of(metric: Metric, mean: Array, std: Array | None = None, factors: Factors = None) -> Score:
    """Returns the score without intervals. Logs a warning with the names of factors that never vary."""
    codes = Codes.from_arrays(mean, std, factors=factors)
    return for_codes(metric, codes)(codes, with_intervals=False)
