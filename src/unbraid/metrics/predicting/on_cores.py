"""Small fits side by side, each on one core."""

import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from unbraid._internal.progress import Event, emit
from unbraid.metrics.predicting.convergence import quietly

T = TypeVar("T")


def on_cores(name: str, fits: Sequence[Callable[[], T]]) -> list[T]:
    """Returns what each of these fits returns, in order, and tells how many are done. As many run at once as torch has
    threads.

    By itself scikit-learn spreads the steps of one fit over all cores. On ten thousand rows they mostly wait for each
    other: a logistic regression is three times as fast on one core as on two. The last bits
    of a product depend on how many cores share it, so one core each also gives the same numbers on 2 cores and on 16.
    """
    if not fits:
        return []
    import sklearn.linear_model  # noqa: F401 (loads the libraries that are limited)
    from threadpoolctl import threadpool_limits

    # Forests swap the filters of warnings around each tree, for all threads at once: those from before come back here.
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
    """Lets this thread, which ends with its fits, share no loop with others."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="openmp")
