"""Fits that scikit-learn would comment on."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.linalg import LinAlgWarning


@contextmanager
def quietly() -> Iterator[None]:
    """Without scikit-learn's warnings that a solver has stopped short or overflowed on its way, and that there are many
    classes.

    Filters of warnings belong to all threads: enter this in the main thread, around all fits.

    Separable classes have no finite optimum without a penalty; by then the predictions, which are all that a score
    reads, no longer change. Factors with many values are what they are; too many to classify are refused by
    `prediction_tasks.check_classes`.
    """
    from sklearn.exceptions import ConvergenceWarning

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LinAlgWarning)
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        yield
