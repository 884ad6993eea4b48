"""Recipes to JSON and back.

A recipe is a frozen dataclass whose fields are numbers, texts, tuples and other recipes. It is written as its fields plus the import
path of its class: `{"type": "unbraid.objectives.BetaTCVAE", "beta": 6.0}`. The namespace is the registry: what a folder of the package
exports can be named.
"""

import dataclasses
import difflib
import importlib
import inspect
import re
import sys
import types
import typing
from collections.abc import Collection, Iterable
from typing import Any

from unbraid.errors import SpecError


def to_json(recipe: Any) -> Any:
    """The recipe as what JSON can hold."""
    if dataclasses.is_dataclass(recipe) and not isinstance(recipe, type):
        hints = typing.get_type_hints(type(recipe))
        values = {f.name: getattr(recipe, f.name) for f in dataclasses.fields(recipe)}
        # A float field may have been given as an int: 4 and 4.0 are the same recipe and must have the same digest.
        return {"type": public_path(type(recipe))} | {
            name: float(value) if hints[name] is float else to_json(value) for name, value in values.items()
        }
    if isinstance(recipe, (tuple, list)):
        return [to_json(value) for value in recipe]
    if recipe is None or isinstance(recipe, (bool, int, float, str)):
        return recipe
    raise SpecError(f"A recipe holds numbers, texts, tuples and other recipes; {recipe!r} is a {type(recipe).__name__}.")


def from_json(content: Any, expected: Any, *, packages: Collection[str] = ("unbraid",), where: str = "spec") -> Any:
    """What `to_json` wrote. `expected` is a class or an annotation; only classes from these top-level `packages` are ever imported.

    A class of one's own is read back by naming its package: `packages=("unbraid", "mine")`.
    """
    if isinstance(content, dict):
        cls = _resolve(content.get("type"), expected, packages, where)
        hints = typing.get_type_hints(cls)
        given = {name: value for name, value in content.items() if name != "type"}
        known = [f.name for f in dataclasses.fields(cls)]
        for name in given:
            if name not in known:
                raise SpecError(f"{where}: {cls.__name__} has no field {name!r}. {suggestion(name, known)}")
        values = {name: from_json(value, hints[name], packages=packages, where=f"{where}.{name}") for name, value in given.items()}
        return cls(**values)
    return check_value(content, expected, where)


def check_value(value: Any, annotation: Any, where: str) -> Any:
    """The value as the annotation wants it (a list becomes a tuple, an int becomes a float), or an error that says what was expected."""
    for choice in alternatives(annotation):
        origin, arguments = typing.get_origin(choice), typing.get_args(choice)
        if origin is tuple and isinstance(value, (list, tuple)):
            return tuple(check_value(item, arguments[0], where) for item in value)
        if origin is typing.Literal and value in arguments and type(value) is type(arguments[arguments.index(value)]):
            return value
        if choice is float and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
        if choice is types.NoneType and value is None:
            return None
        if isinstance(choice, type) and choice is not types.NoneType and type(value) is choice:
            return value
    raise SpecError(f"{where} is {value!r}; expected {describe(annotation)}.")


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation alone."""
    return typing.get_args(annotation) if typing.get_origin(annotation) in (typing.Union, types.UnionType) else (annotation,)


def describe(annotation: Any) -> str:
    """The annotation in words."""
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", types.NoneType: "nothing (null)"}

    def one(choice: Any) -> str:
        if typing.get_origin(choice) is typing.Literal:
            return "one of " + ", ".join(map(str, typing.get_args(choice)))
        if typing.get_origin(choice) is tuple:
            return f"a list, each entry {describe(typing.get_args(choice)[0])}"
        return words.get(choice, f"a {getattr(choice, '__name__', choice)}")

    return " or ".join(one(choice) for choice in alternatives(annotation))


def choices(base: type) -> dict[str, type]:
    """Every concrete recipe of this kind that the package exports, by the name that the command line uses."""
    folder = sys.modules[base.__module__.rpartition(".")[0]]
    found = [cls for cls in vars(folder).values() if inspect.isclass(cls) and issubclass(cls, base) and not inspect.isabstract(cls)]
    return {kebab_case(cls, base): cls for cls in sorted(found, key=lambda cls: cls.__name__)}


def kebab_case(cls: type, base: type | None = None) -> str:
    """`BetaTCVAE` is `beta-tcvae`; the name of the kind is dropped from the end: `BernoulliLikelihood` is `bernoulli`."""
    name = cls.__name__
    if base is not None and name != base.__name__:
        name = name.removesuffix(base.__name__)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def suggestion(given: str, valid: Iterable[str]) -> str:
    """The nearest valid name, and all of them."""
    valid = sorted(valid)
    nearest = difflib.get_close_matches(given, valid, n=1, cutoff=0.5)
    return (f"Did you mean {nearest[0]!r}? " if nearest else "") + f"Valid: {', '.join(valid)}."


def public_path(cls: type) -> str:
    """The shortest import path under which the class can be found: `unbraid.objectives.VAE`, not `unbraid.objectives.vae.VAE`."""
    parts = cls.__module__.split(".")
    for depth in range(1, len(parts) + 1):
        module = sys.modules.get(".".join(parts[:depth]))
        if vars(module).get(cls.__name__) is cls if module else False:
            return ".".join([*parts[:depth], cls.__name__])
    return f"{cls.__module__}.{cls.__qualname__}"


def _resolve(path: Any, expected: Any, packages: Collection[str], where: str) -> type:
    """The class that the path names, if it may be imported and is of the expected kind."""
    kinds = [choice for choice in alternatives(expected) if isinstance(choice, type) and choice is not types.NoneType]
    if not isinstance(path, str) or not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", path):
        raise SpecError(f"{where}: the type is {path!r}; expected an import path such as 'unbraid.objectives.BetaTCVAE'.")
    if path.partition(".")[0] not in packages:
        raise SpecError(f"{where}: the type {path!r} is not from {', '.join(packages)}, so it is not imported. Name its package if you trust it.")
    module, _, name = path.rpartition(".")
    try:
        cls = vars(importlib.import_module(module))[name]
    except (ImportError, KeyError):
        raise SpecError(f"{where}: there is no {path!r} in this version of unbraid.") from None
    if not (inspect.isclass(cls) and dataclasses.is_dataclass(cls) and issubclass(cls, tuple(kinds))):
        raise SpecError(f"{where}: {path!r} is not {' or '.join(kind.__name__ for kind in kinds)}.")
    return cls
