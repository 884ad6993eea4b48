"""Parallel scikit-learn fits on one core each, without solver warnings."""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
import scipy
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from unbraid._internal.progress import Event, emit
from unbraid.metrics.settings import sklearn_seed

T = TypeVar("T")

_is_quiet = ContextVar("is_quiet", default=False)
# liblinear releases the GIL and has one random number generator per process, so parallel fits would not be
# reproducible.
_ONE_AT_A_TIME = threading.Lock()


class _MutedHere(type):
    """Metaclass of warning categories that match other categories only inside `quietly` and in the same thread."""

    muted: tuple[type[Warning], ...]

    def __subclasscheck__(cls, category: type) -> bool:
        return _is_quiet.get() and issubclass(category, cls.muted)


class _SolverWarning(Warning, metaclass=_MutedHere):
    muted = (RuntimeWarning,)


class _ClassCountWarning(Warning, metaclass=_MutedHere):
    muted = (UserWarning,)


@contextmanager
def quietly() -> Iterator[None]:
    """Suppresses scikit-learn's warnings of convergence, overflows and many classes, in this thread only.

    Enter this context in the thread that fits. Without a penalty, separable classes have no finite optimum, but the
    predictions, which scores use, no longer change when the solver stops.
    """
    from sklearn.exceptions import ConvergenceWarning

    _SolverWarning.muted = (RuntimeWarning, scipy.linalg.LinAlgWarning, ConvergenceWarning)
    # Filters are global to the process, so they are not removed. Outside of this context they match no warning.
    warnings.simplefilter("ignore", _SolverWarning)
    warnings.filterwarnings("ignore", "The number of unique classes", _ClassCountWarning)
    token = _is_quiet.set(True)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _is_quiet.reset(token)


def on_cores(name: str, fits: Sequence[Callable[[], T]]) -> list[T]:
    """Runs fits in parallel, with one core per fit, and returns the results in order. Emits progress.

    By default scikit-learn distributes each fit over all cores, which is slower for ten thousand rows: a logistic
    regression is three times as fast on one core as on two. With one core per fit, results are also equal on machines
    with different numbers of cores, because the last bits of a matrix product depend on this number.
    """
    if not fits:
        return []
    import sklearn.linear_model  # noqa: F401 (loads the libraries that are limited)
    from threadpoolctl import threadpool_limits

    # Forests change the global warning filters for each tree; catch_warnings restores the original filters.
    with (
        warnings.catch_warnings(),
        quietly(),
        threadpool_limits(1, user_api="blas"),
        ThreadPoolExecutor(min(len(fits), torch.get_num_threads()), initializer=_take_one_core) as pool,
    ):
        found: list[T] = []
        for result in pool.map(lambda fit: fit(), fits):
            found.append(result)
            emit(Event(name, len(found), len(fits), "fits"))
        return found


def _take_one_core() -> None:
    """Limits this worker thread to one core."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="openmp")


def fitted_svm(
    features: Float64[Tensor, "row feature"], labels: Int64[Tensor, " row"], seed: int, **settings: Any
) -> Any:
    """Fits a linear SVM with C = 0.01 and the given settings of scikit-learn's LinearSVC."""
    from sklearn.svm import LinearSVC

    model = LinearSVC(C=0.01, random_state=sklearn_seed(seed), **settings)
    with _ONE_AT_A_TIME, quietly():
        return model.fit(features.numpy(), labels.numpy())
