"""What the annotation of a field allows: numbers, texts, words to choose from, configs, and tuples of these."""

import dataclasses
import functools
import inspect
import numbers
import os
import types
import typing
from collections.abc import Hashable, Iterator
from typing import Any, Literal

import numpy as np

from unbraid._internal.names import kebab_case
from unbraid.config.own_configs import check_class
from unbraid.errors import SpecError

_IN_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    types.NoneType: "None",
}


def hints_of(cls: type) -> dict[str, Any]:
    """Returns the annotation of each field of a dataclass, by the name of the field."""
    return _hints_of(typing.cast(Hashable, cls))


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Returns the default of a field, or `dataclasses.MISSING` if it has none."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Returns the members of a union in their order, or the annotation alone."""
    # Not cached: to a cache, unions and words to choose from that differ in their order are the same.
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def words_of(annotation: Any) -> tuple[Any, ...]:
    """Returns the words that the annotation lets one choose from."""
    literals = [kind for kind in alternatives(annotation) if typing.get_origin(kind) is Literal]
    return tuple(word for kind in literals for word in typing.get_args(kind))


@functools.lru_cache(maxsize=4096)
def kinds_of(annotation: Any) -> tuple[type, ...]:
    """Returns the kinds of config that the annotation allows: their base classes."""
    return tuple(kind for kind in alternatives(annotation) if is_kind(kind))


@functools.lru_cache(maxsize=4096)
def entries_of(annotation: Any) -> Any:
    """Returns the annotation of the entries of a tuple, or None if no tuple is allowed."""
    tuples = (kind for kind in alternatives(annotation) if typing.get_origin(kind) is tuple)
    return next((typing.get_args(kind)[0] for kind in tuples), None)


@functools.lru_cache(maxsize=4096)
def is_kind(kind: Any) -> bool:
    """Returns whether this is a class of configs."""
    return inspect.isclass(kind) and (inspect.isabstract(kind) or dataclasses.is_dataclass(kind))


def describe(annotation: Any) -> str:
    """Returns a description of the annotation: "a number or None"."""
    return " or ".join(map(_described, alternatives(annotation)))


def check_value(value: Any, annotation: Any, where: str) -> Any:
    """Returns the value as the annotation wants it, or raises an error with what was expected.

    A list becomes a tuple, a whole number becomes a float where a float is wanted, a number of NumPy becomes one of
    Python, and a path becomes a text.
    """
    if annotation is type(value) and (annotation is float or (annotation is int and -(2**63) <= value < 2**63)):
        return value  # most fields, in a study most of all: it has very many seeds
    plain = value.item() if isinstance(value, np.generic) else value
    plain = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
    for kind in alternatives(annotation):
        if _is_of(plain, kind):
            return _checked(plain, kind, where)
    raise SpecError(f"{where} is {in_short(value)}; expected {describe(annotation)}.{_hint(value, annotation)}")


def in_short(value: Any) -> str:
    """Returns what was given, in a message: a class by its name, arrays and nets by their type, and else as Python
    would write it, cut short.
    """
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    text = repr(value)
    if shape := getattr(value, "shape", None):
        return f"a {type(value).__name__} of shape {tuple(shape)}"
    return f"a {type(value).__name__}" if "\n" in text or len(text) > 200 else text


def _hint(value: Any, annotation: Any) -> str:
    """Returns which instance to give where a config is expected: of the class that was given or named, or of one among
    those that there are.
    """
    kinds = kinds_of(annotation)
    if inspect.isclass(value):
        return f" Give an instance: {value.__name__}()." if issubclass(value, kinds) else ""
    classes: dict[type, str] = {cls: kebab_case(cls, kind) for kind in kinds for cls in _configs_below(kind)}
    for cls, name in classes.items():
        if isinstance(value, str) and value.partition(":")[0] in (name, cls.__name__):
            return f" Give an instance: {cls.__name__}(...)."
    if not classes or any(kind not in (*kinds, types.NoneType) for kind in alternatives(annotation)):
        return ""
    return f" Give an instance of one of these classes: {', '.join(sorted(cls.__name__ for cls in classes))}."


def _configs_below(kind: type) -> Iterator[type]:
    """Yields the concrete configs of a kind that were imported."""
    below: list[type] = kind.__subclasses__()
    for cls in below:
        if dataclasses.is_dataclass(cls) and not inspect.isabstract(cls):
            yield cls
        yield from _configs_below(cls)


def _is_of(value: Any, kind: Any) -> bool:
    """Returns whether the value is of one of the alternatives, apart from what is in it."""
    origin = typing.get_origin(kind)
    if origin is tuple:
        return isinstance(value, (list, tuple))
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in typing.get_args(kind))
    if kind in (int, float):  # bool, to Python, is a whole number
        wanted = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, wanted) and not isinstance(value, bool)
    if is_kind(kind):
        return isinstance(value, kind)
    return type(value) is kind if kind in _IN_WORDS else not isinstance(kind, type) or isinstance(value, kind)


def _checked(value: Any, kind: Any, where: str) -> Any:
    if typing.get_origin(kind) is tuple:
        entry = typing.get_args(kind)[0]
        if _are_plain(value, entry):  # seeds, of which a study has very many
            return value if isinstance(value, tuple) else tuple(value)
        return tuple(check_value(item, entry, where) for item in value)
    if is_kind(kind):
        check_class(type(value))
    if kind is str:
        _check_text(value, where)
    if kind in (int, float):
        return kind(_of_64_bits(value, where) if isinstance(value, numbers.Integral) else value)
    return value


def _are_plain(values: Any, entry: Any) -> bool:
    """Returns whether all of these are of this type of number, and small enough, as they stand."""
    if entry not in (int, float) or not values or set(map(type, values)) != {entry}:
        return False
    return entry is float or (min(values) >= -(2**63) and max(values) < 2**63)


def _of_64_bits(value: numbers.Integral, where: str) -> int:
    """Returns a whole number that the sums and products of its readers can hold."""
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise SpecError(f"{where} is beyond 64 bits; expected a whole number between -2**63 and 2**63.")
    return number


def _check_text(value: str, where: str) -> None:
    """Refuses characters that no path can hold: the byte 0, and halves of characters."""
    try:
        if b"\0" in value.encode("utf-8", "surrogateescape"):
            raise ValueError
    except ValueError:
        raise SpecError(f"{where} is {value!r}; expected a text that a file could be named by.") from None


@functools.cache
def _hints_of(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _described(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        return f"a list, each entry {describe(typing.get_args(kind)[0])}"
    name = getattr(kind, "__name__", str(kind))
    return _IN_WORDS.get(kind, f"{'an' if name[0] in 'AEIO' else 'a'} {name}")
