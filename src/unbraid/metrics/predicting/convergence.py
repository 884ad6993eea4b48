"""Fits that scikit-learn would comment on."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import scipy

_is_quiet = ContextVar("is_quiet", default=False)


class _Here(type):
    """A metaclass of categories of warnings that others belong to within `quietly` alone, and in its thread alone."""

    muted: tuple[type[Warning], ...]

    def __subclasscheck__(cls, category: type) -> bool:
        return _is_quiet.get() and issubclass(category, cls.muted)


class _OfSolvers(Warning, metaclass=_Here):
    muted = (RuntimeWarning,)


class _OfUsers(Warning, metaclass=_Here):
    muted = (UserWarning,)


@contextmanager
def quietly() -> Iterator[None]:
    """Mutes scikit-learn's warnings that a solver has stopped short or overflowed on its way, and that there are many
    classes. Other threads hear theirs: enter this in the thread that fits.

    Separable classes have no finite optimum without a penalty; by then the predictions, which are all that a score
    reads, no longer change. Factors with many values are what they are; too many to classify are refused by
    `prediction_tasks.check_classes`.
    """
    from sklearn.exceptions import ConvergenceWarning

    _OfSolvers.muted = (RuntimeWarning, scipy.linalg.LinAlgWarning, ConvergenceWarning)
    # Filters belong to the whole process, so these stay in place: outside of this block they match nothing.
    warnings.simplefilter("ignore", _OfSolvers)
    warnings.filterwarnings("ignore", "The number of unique classes", _OfUsers)
    token = _is_quiet.set(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _is_quiet.reset(token)
