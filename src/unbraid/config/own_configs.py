"""Configs of the user's own: what their classes must be, and the source they are made of."""

import contextlib
import dataclasses
import functools
import inspect
import json
from collections.abc import Iterator
from typing import Any

from unbraid._internal.source import MAIN, OwnSource, check_importable, source_of
from unbraid._internal.source.syntax import short_digest
from unbraid.errors import SpecError


def own_source(config: Any) -> OwnSource:
    """Returns the source of the classes of a config, and of the configs in it, that are not of unbraid."""
    classes = dict.fromkeys(_classes(config))
    for cls in classes:
        check_importable(cls)
    return source_of(classes)


def missing_classes(config: Any) -> list[str]:
    """Returns the paths of the classes for which something stands in this config."""
    found = dict.fromkeys(cls for cls in _classes(config) if getattr(cls, "is_stand_in", False))
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in found]


def classes_of_main(config: Any) -> list[str]:
    """Returns the names of the classes of a config that a script or a notebook defines, where no other process can
    import them.
    """
    return [cls.__qualname__ for cls in dict.fromkeys(_classes(config)) if cls.__module__ == MAIN]


def source_digest(config: Any) -> str | None:
    """Returns digits that tell the source of a config's own classes from others; None where all are of unbraid, or
    their source is nowhere to be found.
    """
    with contextlib.suppress(SpecError):
        source = source_of(dict.fromkeys(_classes(config)))
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
            f"{cls.__name__}`, and each setting as a field, such as `beta: float = 1.0`, instead of an __init__."
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
