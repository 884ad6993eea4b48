"""Recipes of the user's own: what their classes must be, and the source they are made of."""

import contextlib
import dataclasses
import functools
import inspect
import json
from collections.abc import Iterator
from typing import Any

from unbraid.errors import SpecError
from unbraid.source import OwnSource, source_of
from unbraid.source.own_classes import check_importable
from unbraid.source.syntax import short_digest


def own_source(recipe: Any) -> OwnSource:
    """Returns the source of the classes of a recipe, and of the recipes in it, that are not of unbraid."""
    classes = dict.fromkeys(_classes(recipe))
    for cls in classes:
        check_importable(cls)
    return source_of(classes)


def source_digest(recipe: Any) -> str | None:
    """Returns digits that tell the source of a recipe's own classes from others; None where all are of unbraid, or
    their source is nowhere to be found.
    """
    with contextlib.suppress(SpecError):
        source = source_of(dict.fromkeys(_classes(recipe)))
        return short_digest(json.dumps(source.identity).encode()) if source else None
    return None


def check_class(cls: type) -> None:
    """Refuses a class whose instances have settings that are not fields: two that differ would be taken for one."""
    _check_class(cls)


@functools.cache
def _check_class(cls: Any) -> None:
    if "__dataclass_fields__" not in vars(cls):
        raise SpecError(
            f"{cls.__name__} is not a dataclass in its own right, so that its settings would be lost and "
            f"{cls.__name__}s that differ be taken for the same. Write @dataclass(frozen=True) above `class "
            f"{cls.__name__}`, and each setting as a field, such as `beta: float = 1.0`, in place of an __init__."
        )
    if not vars(cls)["__dataclass_params__"].frozen:
        raise SpecError(
            f"{cls.__name__} is a dataclass whose settings may change. Write @dataclass(frozen=True) above it."
        )
    names = {field.name for field in dataclasses.fields(cls)}
    taken = set(list(inspect.signature(cls.__init__).parameters)[1:])
    if taken != names:
        raise SpecError(
            f"{cls.__name__} is made of {_listed(taken)}, and its fields are {_listed(names)}: what is not a field is "
            "not kept. Leave out its __init__ (and InitVar, and field(init=False)), and check or convert fields in "
            "__post_init__."
        )


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _classes(value: Any) -> Iterator[type]:
    if isinstance(value, tuple):
        for item in value:
            yield from _classes(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        for field in dataclasses.fields(value):
            yield from _classes(getattr(value, field.name))
