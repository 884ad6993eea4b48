"""Fits that scikit-learn would comment on."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from scipy.linalg import LinAlgWarning


@contextmanager
def quietly() -> Iterator[None]:
    """Without scikit-learn's warnings that a solver has stopped short, and that there are many classes.

    Separable classes have no finite optimum without a penalty; by then the predictions, which are all that a score reads, no longer change. Factors
    with many values are what they are; too many to classify are refused by `prediction_tasks.check_classes`.
    """
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LinAlgWarning)
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        yield
