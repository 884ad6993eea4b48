"""Long work tells how far it is, and a watcher listens: no signature on the way carries a callback."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

Watcher = Callable[[str, int, int, str], None]

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

# A context variable and no global: two threads, each with a bar of its own, do not see each other's work.
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def advance(what: str, done: int, total: int, unit: str) -> None:
    """Tells a watcher, if there is one, that `done` of `total` (0 if it is unknown) of `what` is done."""
    if (watcher := _watcher.get()) is not None:
        watcher(what, done, total, unit)


@contextlib.contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Inside the block `watcher` is called with every `advance`; an inner block takes the place of an outer one, and
    None watches nothing.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def for_thread(work: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Returns the same work, to be given to another thread, where it has the watcher that it has here."""
    watcher = _watcher.get()

    def watched_work(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        with watched(watcher):
            return work(*args, **kwargs)

    return watched_work
