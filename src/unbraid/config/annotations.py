"""Fields of configs: their annotations, defaults and docs, and checks of their values.

An annotation allows numbers, texts, choices, configs, and tuples of these. The docs of a field are the text below it:

    beta: float = 4.0
    \"\"\"Weight of the rate.\"\"\"
"""

import ast
import dataclasses
import functools
import inspect
import numbers
import os
import sys
import types
import typing
from collections.abc import Hashable, Iterator
from typing import Any, Literal

import numpy as np

from unbraid._internal.names import kebab_case
from unbraid.errors import SpecError

_DESCRIPTIONS: dict[Any, str] = {
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


def field_docs(cls: type) -> dict[str, str]:
    """Returns the text below each field of a class and of its bases, by name; nothing if its source cannot be read."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        found |= _texts_in(each.__module__).get(each.__qualname__, {})
    return found


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Returns the members of a union in their order, or the annotation alone."""
    # Not cached: unions and choices that differ only in their order are equal.
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def words_of(annotation: Any) -> tuple[Any, ...]:
    """Returns the choices of the literals in the annotation."""
    literals = [kind for kind in alternatives(annotation) if typing.get_origin(kind) is Literal]
    return tuple(word for kind in literals for word in typing.get_args(kind))


@functools.lru_cache(maxsize=4096)
def kinds_of(annotation: Any) -> tuple[type, ...]:
    """Returns the base classes of the configs that the annotation allows."""
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
    """Returns the value in the type of the annotation, or raises an error with the expected one.

    A list becomes a tuple, an integer in a float field a float, a number of NumPy one of Python, and a path a text.
    """
    if annotation is type(value) and (annotation is float or (annotation is int and -(2**63) <= value < 2**63)):
        return value  # most values: a study has many seeds
    plain = value.item() if isinstance(value, np.generic) else value
    plain = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
    for kind in alternatives(annotation):
        if _is_of(plain, kind):
            return _checked(plain, kind, where)
    raise SpecError(f"{where} is {in_short(value)}; expected {describe(annotation)}.{_hint(value, annotation)}")


def in_short(value: Any) -> str:
    """Returns a value as a message shows it: the name of a class, the type of an array or a net, else its repr."""
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    text = repr(value)
    if shape := getattr(value, "shape", None):
        return f"a {type(value).__name__} of shape {tuple(shape)}"
    return f"a {type(value).__name__}" if "\n" in text or len(text) > 200 else text


def _hint(value: Any, annotation: Any) -> str:
    """Returns the classes to instantiate if a config is expected, or the one that was given or named."""
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
    """Yields the imported concrete subclasses of a kind of config."""
    below: list[type] = kind.__subclasses__()
    for cls in below:
        if dataclasses.is_dataclass(cls) and not inspect.isabstract(cls):
            yield cls
        yield from _configs_below(cls)


def _is_of(value: Any, kind: Any) -> bool:
    """Returns whether the value is of one of the alternatives; entries of a tuple are not checked."""
    origin = typing.get_origin(kind)
    if origin is tuple:
        return isinstance(value, (list, tuple))
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in typing.get_args(kind))
    if kind in (int, float):  # in Python a bool is an integer
        wanted = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, wanted) and not isinstance(value, bool)
    if is_kind(kind):
        return isinstance(value, kind)
    return type(value) is kind if kind in _DESCRIPTIONS else not isinstance(kind, type) or isinstance(value, kind)


def _checked(value: Any, kind: Any, where: str) -> Any:
    if typing.get_origin(kind) is tuple:
        entry = typing.get_args(kind)[0]
        if _are_plain(value, entry):  # a study has many seeds
            return value if isinstance(value, tuple) else tuple(value)
        return tuple(check_value(item, entry, where) for item in value)
    if kind is str:
        _check_text(value, where)
    if kind in (int, float):
        return kind(_of_64_bits(value, where) if isinstance(value, numbers.Integral) else value)
    return value


def _are_plain(values: Any, entry: Any) -> bool:
    """Returns whether all of these are numbers of this type within 64 bits."""
    if entry not in (int, float) or not values or set(map(type, values)) != {entry}:
        return False
    return entry is float or (min(values) >= -(2**63) and max(values) < 2**63)


def _of_64_bits(value: numbers.Integral, where: str) -> int:
    """Returns a whole number, or raises an error if it does not fit into a tensor."""
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise SpecError(f"{where} is beyond 64 bits; expected a whole number between -2**63 and 2**63.")
    return number


def _check_text(value: str, where: str) -> None:
    """Raises an error for characters that no path can hold: NUL and lone surrogates."""
    try:
        if b"\0" in value.encode("utf-8", "surrogateescape"):
            raise ValueError
    except ValueError:
        raise SpecError(f"{where} is {value!r}; expected a text without NUL and lone surrogates.") from None


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
    return _DESCRIPTIONS.get(kind, f"{'an' if name[0] in 'AEIO' else 'a'} {name}")


@functools.cache
def _texts_in(module: str) -> dict[str, dict[str, str]]:
    """Returns the docs of the fields of the classes of a module, by the name of the class."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return {}
    return {node.name: _texts_of(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _texts_of(node: ast.ClassDef) -> dict[str, str]:
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
