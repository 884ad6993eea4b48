"""Fits by scikit-learn: without warnings, side by side on one core each, and one SVM at a time."""

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
import sklearn.svm
import torch
from sklearn.exceptions import ConvergenceWarning

from unbraid._internal.progress import Event, listening
from unbraid.metrics.predicting.fits import on_cores, quietly
from unbraid.metrics.sap import predicted_labels
from unbraid.metrics.zdiff import predicted_factors

ALL_WARNINGS_ARE_ERRORS = pytest.mark.filterwarnings("error")  # also where old packages warn


def heard(category, message="overflow"):
    try:
        warnings.warn(message, category, stacklevel=1)
    except category:
        return True
    return False


@ALL_WARNINGS_ARE_ERRORS
def test_warnings_of_solvers_are_muted_within_and_others_are_not():
    with quietly():
        assert not heard(RuntimeWarning)
        assert not heard(ConvergenceWarning)
        assert not heard(UserWarning, "The number of unique classes is greater than 50%")
        assert heard(UserWarning)
    assert heard(RuntimeWarning)


@ALL_WARNINGS_ARE_ERRORS
def test_another_thread_hears_its_own():
    found = []
    with quietly():
        thread = threading.Thread(target=lambda: found.append(heard(RuntimeWarning)))
        thread.start()
        thread.join()
    assert found == [True]


@ALL_WARNINGS_ARE_ERRORS
def test_filters_that_are_set_meanwhile_stay():
    with warnings.catch_warnings():
        with quietly():
            warnings.filterwarnings("ignore", "of the user", DeprecationWarning)
        assert not heard(DeprecationWarning, "of the user")
        before = len(warnings.filters)
        with quietly(), pytest.raises(ZeroDivisionError):
            _ = 1 / 0
        assert len(warnings.filters) == before


def threads_by_kind() -> dict[str, set[int]]:
    """Returns over how many threads the libraries of this process spread products and loops, as this thread sees it."""
    from threadpoolctl import threadpool_info

    found: dict[str, set[int]] = {}
    for library in threadpool_info():
        found.setdefault(library["user_api"], set()).add(library["num_threads"])
    return found


@pytest.fixture
def two_threads():
    """Lets libraries have two threads, whatever the machine has."""
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpool_limits(2):
        yield
    torch.set_num_threads(before)


def test_what_fits_return_is_in_their_order():
    late = threading.Event()

    def first():
        late.wait(5)
        return "first"

    def second():
        late.set()
        return "second"

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert on_cores("fit", [first, second]) == ["first", "second"]
    finally:
        torch.set_num_threads(before)
    assert on_cores("fit", []) == []


@pytest.mark.usefixtures("two_threads")
def test_a_fit_has_one_core_and_others_have_theirs_again_afterwards():
    before = threads_by_kind()
    [inside] = on_cores("fit", [threads_by_kind])
    assert before["blas"] == {2}
    assert inside["blas"] == inside["openmp"] == {1}
    assert threads_by_kind() == before


def test_filters_of_warnings_are_those_from_before():
    from sklearn.ensemble import RandomForestClassifier

    rows = torch.arange(40.0)[:, None].numpy()
    fits = [
        partial(RandomForestClassifier(n_estimators=3, random_state=0).fit, rows, rows[:, 0] > 20) for _ in range(8)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        before = list(warnings.filters)
        on_cores("fit", fits)
        assert list(warnings.filters) == before


def test_an_error_of_a_fit_is_raised_and_progress_is_told():
    def broken():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        on_cores("fit", [broken, list])
    events: list[Event] = []
    with listening(events.append):
        on_cores("fit", [list, list])
    assert [(each.about, each.done, each.total) for each in events] == [("fit", 1, 2), ("fit", 2, 2)]


FEATURES = torch.randn(40, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(40) % 3


def test_fits_do_not_overlap_whichever_metric_asks_for_them(monkeypatch):
    """They would share liblinear's one generator."""
    inside, most = [], []

    class Slow:
        def __init__(self, **settings):
            pass

        def fit(self, features, labels):
            inside.append(self)
            most.append(len(inside))
            time.sleep(0.02)  # lets every other thread come in
            inside.remove(self)
            return self

        def predict(self, features):
            return np.zeros(len(features), dtype=np.int64)

    monkeypatch.setattr(sklearn.svm, "LinearSVC", Slow)
    with ThreadPoolExecutor(4) as pool:
        asked = [
            pool.submit(predict, FEATURES, LABELS, FEATURES, "svm")
            for predict in (predicted_factors, predicted_labels)
            for _ in range(3)
        ]
    assert all(len(each.result()) == 40 for each in asked)
    assert most == [1] * (3 + 3 * 3)
