"""Annotations, defaults, docs and checks of config fields, and names of config classes.

An annotation allows numbers, strings, literals, configs, and tuples of these. The string literal below a field is the
documentation of the field:

    beta: float = 4.0
    \"\"\"Weight of the rate.\"\"\"

A config class has a name on the command line if the folder of its base class exports the class.
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
from collections.abc import Hashable
from typing import Any, Literal

import numpy as np

from unbraid._internal.names import kebab_case
from unbraid.errors import SpecError

_DESCRIPTIONS: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "true or false",
    types.NoneType: "None",
}


def hints_of(cls: type) -> dict[str, Any]:
    """Returns the annotation of each field of a dataclass by field name."""
    return _hints_of(typing.cast(Hashable, cls))


@functools.cache
def _hints_of(cls: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Returns the default of a field, or `dataclasses.MISSING` if it has none."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def required_fields(cls: type) -> list[str]:
    """Returns the names of the fields that have no default."""
    return [each.name for each in dataclasses.fields(cls) if default_of(each) is dataclasses.MISSING]


def field_docs(cls: type) -> dict[str, str]:
    """Returns the docs of each field of a class and its bases by field name, or {} if the source is unavailable."""
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        found |= _docs_in_module(each.__module__).get(each.__qualname__, {})
    return found


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """Returns the members of a union in order, or a tuple with any other annotation."""
    # Not cached: unions and literals that differ only in their order are equal.
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def literals_of(annotation: Any) -> tuple[Any, ...]:
    """Returns the values that the literals of an annotation allow."""
    literals = [kind for kind in alternatives(annotation) if typing.get_origin(kind) is Literal]
    return tuple(value for kind in literals for value in typing.get_args(kind))


@functools.lru_cache(maxsize=4096)
def kinds_of(annotation: Any) -> tuple[type, ...]:
    """Returns the config classes in an annotation. Their instances and instances of subclasses are allowed."""
    return tuple(kind for kind in alternatives(annotation) if is_kind(kind))


@functools.lru_cache(maxsize=4096)
def entries_of(annotation: Any) -> Any:
    """Returns the annotation of the entries of a tuple, or None for an annotation without tuples."""
    tuples = (kind for kind in alternatives(annotation) if typing.get_origin(kind) is tuple)
    return next((typing.get_args(kind)[0] for kind in tuples), None)


@functools.lru_cache(maxsize=4096)
def is_kind(kind: Any) -> bool:
    """Returns whether `kind` is a config class."""
    return inspect.isclass(kind) and (inspect.isabstract(kind) or dataclasses.is_dataclass(kind))


def describe(annotation: Any) -> str:
    """Describes an annotation for error messages: "a number or None"."""
    return " or ".join(map(_described, alternatives(annotation)))


def check_value(value: Any, annotation: Any, where: str) -> Any:
    """Converts a value to the type of the annotation. Raises a SpecError for a value of another type.

    Lists become tuples, integers in a float field floats, NumPy numbers Python numbers, and paths strings. `where`
    names the field in the message.
    """
    if annotation is type(value) and (annotation is float or (annotation is int and -(2**63) <= value < 2**63)):
        return value  # a fast path for most values, such as the many seeds of a study
    plain = value.item() if isinstance(value, np.generic) else value
    plain = os.fspath(plain) if isinstance(plain, os.PathLike) else plain
    for kind in alternatives(annotation):
        if _is_of(plain, kind):
            return _converted(plain, kind, where)
    raise SpecError(f"{where} is {in_short(value)}; expected {describe(annotation)}.{_hint(value, annotation)}")


def in_short(value: Any) -> str:
    """Formats a value for error messages: the name of a class, the type of an array or net, or the repr."""
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    text = repr(value)
    if shape := getattr(value, "shape", None):
        return f"a {type(value).__name__} of shape {tuple(shape)}"
    return f"a {type(value).__name__}" if "\n" in text or len(text) > 200 else text


def choices(base: type) -> dict[str, Any]:
    """Returns the exported concrete subclasses of a base class by their names on the command line."""
    folder = sys.modules[public_path(base).rpartition(".")[0]]
    found = {cls for cls in vars(folder).values() if is_config_class(cls, base)}
    return {kebab_case(cls, base): cls for cls in sorted(found, key=lambda cls: cls.__name__)}


def short_name(config: Any) -> str:
    """Returns the command-line name of a config: `gaussian` for GaussianLatents.

    The name does not include the name of the topmost abstract base class.
    """
    kinds = [base for base in type(config).__mro__[1:] if inspect.isabstract(base)]
    return kebab_case(type(config), kinds[-1] if kinds else None)


def public_path(cls: type) -> str:
    """Returns the public import path of a class, such as `unbraid.objectives.VAE`.

    The path is not `unbraid.objectives.vae.VAE`, and not `unbraid.VAE`, because digests must not depend on the exports
    of the top-level package.
    """
    parts = cls.__module__.split(".")
    for depth in range(min(2, len(parts)), len(parts) + 1):
        module = sys.modules.get(".".join(parts[:depth]))
        if module is not None and vars(module).get(cls.__name__) is cls:
            return ".".join([*parts[:depth], cls.__name__])
    return f"{cls.__module__}.{cls.__qualname__}"


def is_config_class(cls: Any, annotation: Any) -> bool:
    """Returns whether `cls` is a concrete config class allowed by the annotation."""
    is_allowed = inspect.isclass(cls) and issubclass(cls, kinds_of(annotation))
    return is_allowed and dataclasses.is_dataclass(cls) and not inspect.isabstract(cls)


def _hint(value: Any, annotation: Any) -> str:
    """Suggests to pass an instance: of the given or named class, or else of one of the valid classes."""
    kinds = kinds_of(annotation)
    if inspect.isclass(value):
        return f" Pass an instance: {value.__name__}()." if issubclass(value, kinds) else ""
    classes = {name: cls.__name__ for kind in kinds for name, cls in choices(kind).items()}
    if isinstance(value, str) and (name := value.partition(":")[0]) in (*classes, *classes.values()):
        return f" Pass an instance: {classes.get(name, name)}(...)."
    if not classes or any(kind not in (*kinds, types.NoneType) for kind in alternatives(annotation)):
        return ""
    return f" Pass an instance of one of these classes: {', '.join(sorted(classes.values()))}."


def _is_of(value: Any, kind: Any) -> bool:
    """Returns whether a value matches one alternative of an annotation. Entries of a tuple are not checked."""
    origin = typing.get_origin(kind)
    if origin is tuple:
        return isinstance(value, (list, tuple))
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in typing.get_args(kind))
    if kind in (int, float):  # in Python, a bool is an int
        wanted = numbers.Integral if kind is int else numbers.Real
        return isinstance(value, wanted) and not isinstance(value, bool)
    if is_kind(kind):
        return isinstance(value, kind)
    return type(value) is kind if kind in _DESCRIPTIONS else not isinstance(kind, type) or isinstance(value, kind)


def _converted(value: Any, kind: Any, where: str) -> Any:
    """Converts a value to the type of one alternative. Raises a SpecError for a value that JSON cannot store."""
    if typing.get_origin(kind) is tuple:
        return tuple(check_value(item, typing.get_args(kind)[0], where) for item in value)
    if kind is str and ("\0" in value or any("\ud800" <= letter <= "\udc7f" for letter in value)):
        raise SpecError(f"{where} is {value!r}; expected a string without NUL and lone surrogates. Remove them.")
    if kind in (int, float) and isinstance(value, numbers.Integral) and not -(2**63) <= int(value) < 2**63:
        raise SpecError(f"{where} is beyond 64 bits; expected an integer from -2**63 to 2**63 - 1.")
    return kind(value) if kind in (int, float) else value


def _described(kind: Any) -> str:
    if typing.get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(kind)))
    if typing.get_origin(kind) is tuple:
        return f"a list, each entry {describe(typing.get_args(kind)[0])}"
    name = getattr(kind, "__name__", str(kind))
    return _DESCRIPTIONS.get(kind, f"{'an' if name[0] in 'AEIO' else 'a'} {name}")


@functools.cache
def _docs_in_module(module: str) -> dict[str, dict[str, str]]:
    """Returns the docs of the fields of each class in a module, by class name and field name."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return {}
    return {node.name: _docs_in_class(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _docs_in_class(node: ast.ClassDef) -> dict[str, str]:
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
