"""Fits without comments, and the comments of everybody else."""

import threading
import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from unbraid.metrics.predicting.convergence import quietly

pytestmark = pytest.mark.filterwarnings("error")  # also where old packages warn, and warnings are no errors


def heard(category, message="overflow"):
    try:
        warnings.warn(message, category, stacklevel=1)
    except category:
        return True
    return False


def test_warnings_of_solvers_are_muted_within_and_others_are_not():
    with quietly():
        assert not heard(RuntimeWarning)
        assert not heard(ConvergenceWarning)
        assert not heard(UserWarning, "The number of unique classes is greater than 50%")
        assert heard(UserWarning)
    assert heard(RuntimeWarning)


def test_another_thread_hears_its_own():
    found = []
    with quietly():
        thread = threading.Thread(target=lambda: found.append(heard(RuntimeWarning)))
        thread.start()
        thread.join()
    assert found == [True]


def test_filters_that_are_set_meanwhile_stay():
    with warnings.catch_warnings():
        with quietly():
            warnings.filterwarnings("ignore", "of the user", DeprecationWarning)
        assert not heard(DeprecationWarning, "of the user")
        before = len(warnings.filters)
        with quietly(), pytest.raises(ZeroDivisionError):
            _ = 1 / 0
        assert len(warnings.filters) == before
