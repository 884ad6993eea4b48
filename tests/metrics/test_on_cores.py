"""Small fits side by side: in order, each on one core, and nothing of it left behind."""

import threading
import warnings
from functools import partial

import pytest
import torch

from unbraid._internal.progress import Event, listening
from unbraid.metrics.predicting.on_cores import on_cores


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
    heard: list[Event] = []
    with listening(heard.append):
        on_cores("fit", [list, list])
    assert [(each.about, each.done, each.total) for each in heard] == [("fit", 1, 2), ("fit", 2, 2)]
