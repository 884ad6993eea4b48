"""Which functions have their shapes checked while the tests run: those whose signatures have shapes.

The import hook of jaxtyping wraps every function of the package, and its wrapper takes longer than most of what it
wraps: the tests would take twice the time. Types without shapes are left to mypy.
"""

import functools
import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any, get_args

import jaxtyping

_jaxtyped = jaxtyping.jaxtyped
_MOST_CHECKS = 20
"""How often a function is checked in a test: a training calls it hundreds of times with the same shapes."""
_num_calls: Counter[Any] = Counter()


def check_no_others() -> None:
    """Has the hook check shapes alone. To be called before the package is imported."""
    jaxtyping.jaxtyped = shapes_checked


def begin_test() -> None:
    """From here on every function is checked again."""
    _num_calls.clear()


def shapes_checked(*, typechecker: Any) -> Callable[[Any], Any]:
    """Stands in for `jaxtyping.jaxtyped`, which the hook writes above every function and class."""

    def decorated(thing: Any) -> Any:
        if not inspect.isclass(thing):
            return _checked(thing, typechecker)
        if is_dataclass(thing):
            thing.__init__ = _checked(thing.__init__, typechecker)
        return thing

    return decorated


def _checked(function: Any, typechecker: Any) -> Any:
    if not any(_has_shape(annotation) for annotation in inspect.get_annotations(function).values()):
        return function
    if inspect.isgeneratorfunction(function):  # which begins when the sizes of its arguments are forgotten
        return _jaxtyped(function, typechecker=typechecker)
    check = typechecker(function)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        _num_calls[function] += 1
        if jaxtyping.config.jaxtyping_disable or _num_calls[function] > _MOST_CHECKS:
            return function(*args, **kwargs)
        with _jaxtyped("context"):  # sizes of its own; as a decorator it would also look up the name of each argument
            return check(*args, **kwargs)

    return checked


def _has_shape(annotation: Any) -> bool:
    is_shape = inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray)
    return is_shape or any(map(_has_shape, get_args(annotation)))
