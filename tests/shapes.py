"""Which functions have their shapes checked while the tests run: those whose signatures have shapes.

The import hook of jaxtyping wraps every function of the package, and its wrapper takes longer than most of what it
wraps: the tests would take twice the time. Types without shapes are left to mypy.
"""

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any, get_args

import jaxtyping
from torch import Tensor

_jaxtyped = jaxtyping.jaxtyped
_MOST_CHECKS = 20
"""How often a function is checked in a test: a training calls it hundreds of times with the same shapes."""
_MOST_ALIKE = 3
"""How often of these with the same objects and tensors of the same shapes."""
_num_calls: Counter[Any] = Counter()


def check_no_others() -> None:
    """Has the hook check shapes alone. To be called before the package is imported."""
    jaxtyping.jaxtyped = shapes_checked


def begin_test() -> None:
    """From here on every function is checked again."""
    _num_calls.clear()


def _is_known(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Returns whether this call need not be checked: there were many, or some like it."""
    _num_calls[function] += 1
    if _num_calls[function] > _MOST_CHECKS:
        return True
    alike = function, *map(_shape_of, args), *((name, _shape_of(each)) for name, each in kwargs.items())
    _num_calls[alike] += 1
    return _num_calls[alike] > _MOST_ALIKE


def _shape_of(argument: Any) -> Any:
    return (argument.shape, argument.dtype) if isinstance(argument, Tensor) else id(argument)


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
    shapes = [shape for each in inspect.get_annotations(function).values() for shape in _shapes_in(each)]
    if not shapes:
        return function
    if inspect.isgeneratorfunction(function):  # which begins when the sizes of its arguments are forgotten
        return _jaxtyped(function, typechecker=typechecker)
    check = typechecker(function)
    if any("{" in shape.dim_str for shape in shapes):  # a size that an argument says: "{resolution}"
        check = _jaxtyped(check, typechecker=None)

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if jaxtyping.config.jaxtyping_disable or _is_known(function, args, kwargs):
            return function(*args, **kwargs)
        with _jaxtyped("context"):  # sizes of its own; as a decorator it would also look up the name of each argument
            return check(*args, **kwargs)

    return checked


def _shapes_in(annotation: Any) -> Iterator[Any]:
    if inspect.isclass(annotation) and issubclass(annotation, jaxtyping.AbstractArray):
        yield annotation
    for part in get_args(annotation):
        yield from _shapes_in(part)
