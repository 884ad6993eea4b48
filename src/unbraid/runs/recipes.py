"""Recipes to JSON and back.

A recipe is a frozen dataclass whose fields are numbers, texts, other recipes, and tuples of these. It is written as its
fields plus the import path of its class: `{"type": "unbraid.objectives.BetaTCVAE", "beta": 6.0}`. The namespace is the
registry: what a folder of the package exports can be named.
"""

import dataclasses
import functools
import hashlib
import importlib
import inspect
import json
import numbers
import re
import sys
import types
import typing
from collections.abc import Callable, Collection
from typing import Any

from unbraid.errors import SpecError
from unbraid.names import kebab_case, suggestion


def to_json(recipe: Any) -> dict[str, Any]:
    """The recipe as what JSON can hold. A value that could not be read back into its field is refused."""
    return _to_json(recipe, to_json)


def _to_json(recipe: Any, write: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Returns the recipe as JSON, with the recipes in its fields as `write` writes them."""
    if not dataclasses.is_dataclass(recipe) or isinstance(recipe, type):
        raise SpecError(f"{recipe!r} is a {type(recipe).__name__}; expected a recipe: an instance of a dataclass.")
    cls, hints = type(recipe), typing.get_type_hints(type(recipe))
    return {"type": public_path(cls)} | {
        f.name: _field_to_json(getattr(recipe, f.name), hints[f.name], f"{cls.__name__}.{f.name}", write)
        for f in dataclasses.fields(cls)
    }


def from_json(content: Any, expected: Any, *, packages: Collection[str] = ("unbraid",), where: str = "spec") -> Any:
    """What `to_json` wrote. `expected` is a class or an annotation; only classes from these top-level `packages` are
    ever imported.

    A class of one's own is read back by naming its package: `packages=("unbraid", "mine")`.
    """
    items = _items(content, expected)
    if items is not None:
        indexed = (
            (item, f"{where}[{index}]" if isinstance(item, dict) else where) for index, item in enumerate(content)
        )
        return tuple(from_json(item, items, packages=packages, where=place) for item, place in indexed)
    if not isinstance(content, dict):
        return check_value(content, expected, where)
    cls = _resolve(content.get("type"), expected, packages, where)
    hints, fields = typing.get_type_hints(cls), dataclasses.fields(cls)
    given = {name: value for name, value in content.items() if name != "type"}
    known = [f.name for f in fields]
    for name in given:
        if name not in known:
            raise SpecError(f"{where}: {cls.__name__} has no field {name!r}. {suggestion(name, known)}")
    missing = [f.name for f in fields if f.default is f.default_factory is dataclasses.MISSING and f.name not in given]
    if missing:
        raise SpecError(f"{where}: {cls.__name__} lacks {', '.join(missing)}, which has no default. Give it.")
    values = {
        name: from_json(value, hints[name], packages=packages, where=f"{where}.{name}") for name, value in given.items()
    }
    return cls(**values)


def digest(recipe: Any) -> str:
    """Returns twelve hexadecimal digits that name what the recipe makes: they change when any field does.

    A field that is added later leaves them as they were where it has its default. A default that changes would leave
    them too, so its class then raises `recipe_version: ClassVar[int]`, which counts wherever it is not 1.
    """
    canonical = json.dumps(_without_defaults(recipe), sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def recipe_version(cls: type) -> int:
    """Returns how often the defaults of a recipe, or what they make, have changed since it was written, plus one."""
    version: int = getattr(cls, "recipe_version", 1)
    return version


@functools.cache
def defaults(cls: type) -> dict[str, Any]:
    """Returns the defaults of a recipe by field, as JSON. Those that are recipes are written without their own."""
    hints = typing.get_type_hints(cls)
    found = {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in dataclasses.fields(cls)
    }
    return {
        name: _field_to_json(value, hints[name], f"{cls.__name__}.{name}", _without_defaults_or_versions)
        for name, value in found.items()
        if value is not dataclasses.MISSING
    }


def _without_defaults(recipe: Any) -> dict[str, Any]:
    """Returns the type, the version where it is not 1, and the fields that differ from their defaults.

    A default that is a recipe differs too where its version, or that of a recipe in it, is not 1.
    """
    version = recipe_version(type(recipe))
    versions = {} if version == 1 else {"recipe_version": version}
    return versions | _changed(recipe, _without_defaults)


def _without_defaults_or_versions(recipe: Any) -> dict[str, Any]:
    return _changed(recipe, _without_defaults_or_versions)


def _changed(recipe: Any, write: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    cls: type = type(recipe)
    own, content = defaults(cls), _to_json(recipe, write)
    return {name: value for name, value in content.items() if name not in own or value != own[name]}


def check_value(value: Any, annotation: Any, where: str) -> Any:
    """The value as the annotation wants it (a list becomes a tuple, an int becomes a float), or an error that says what
    was expected.
    """
    for choice in alternatives(annotation):
        origin, arguments = typing.get_origin(choice), typing.get_args(choice)
        if origin is tuple and isinstance(value, (list, tuple)):
            return tuple(check_value(item, arguments[0], where) for item in value)
        if origin is typing.Literal and value in arguments and type(value) is type(arguments[arguments.index(value)]):
            return value
        # NumPy's numbers are such numbers too; bool, to Python, is an integer.
        if choice is float and not isinstance(value, bool) and isinstance(value, numbers.Real):
            return float(_of_64_bits(value, where) if isinstance(value, numbers.Integral) else value)
        if choice is int and not isinstance(value, bool) and isinstance(value, numbers.Integral):
            return _of_64_bits(value, where)
        if choice is types.NoneType and value is None:
            return None
        if choice is str and isinstance(value, str):
            _check_text(value, where)
        if isinstance(choice, type) and choice is not types.NoneType and type(value) is choice:
            return value
    raise SpecError(f"{where} is {value!r}; expected {describe(annotation)}.")


def _of_64_bits(value: numbers.Integral, where: str) -> int:
    """Returns a whole number that the sums and products of its readers can hold."""
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise SpecError(f"{where} is a whole number beyond 64 bits. Give one between -2**63 and 2**63.")
    return number


def _check_text(value: str, where: str) -> None:
    """Refuse characters that no path can hold: the byte 0, and halves of characters."""
    try:
        if b"\0" in value.encode("utf-8", "surrogateescape"):
            raise ValueError
    except ValueError:
        raise SpecError(f"{where} is {value!r}; expected a text that a file could be named by.") from None


def alternatives(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the annotation alone."""
    return (
        typing.get_args(annotation)
        if typing.get_origin(annotation) in (typing.Union, types.UnionType)
        else (annotation,)
    )


def describe(annotation: Any) -> str:
    """The annotation in words."""
    words = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "true or false",
        types.NoneType: "nothing (null)",
    }

    def one(choice: Any) -> str:
        if typing.get_origin(choice) is typing.Literal:
            return "one of " + ", ".join(map(str, typing.get_args(choice)))
        if typing.get_origin(choice) is tuple:
            return f"a list, each entry {describe(typing.get_args(choice)[0])}"
        name = getattr(choice, "__name__", str(choice))
        return words.get(choice, f"{'an' if name[0] in 'AEIO' else 'a'} {name}")

    return " or ".join(one(choice) for choice in alternatives(annotation))


def choices(base: type) -> dict[str, type]:
    """Every concrete recipe of this kind that the package exports, by the name that the command line uses."""
    # What lies directly in the package, as schedules do, has no folder that could export it.
    parent, _, _ = base.__module__.rpartition(".")
    folder = sys.modules[parent if "." in parent else base.__module__]
    found = [cls for cls in vars(folder).values() if _is_recipe(cls, base)]
    return {kebab_case(cls, base): cls for cls in sorted(found, key=lambda cls: cls.__name__)}


def short_name(recipe: Any) -> str:
    """What a recipe is called among those of its kind: `gaussian` for GaussianLatents. The kind is the abstract class
    furthest up.
    """
    kinds = [base for base in type(recipe).__mro__[1:] if inspect.isabstract(base)]
    return kebab_case(type(recipe), kinds[-1] if kinds else None)


def public_path(cls: type) -> str:
    """The import path under which the folder of its kind exports the class: `unbraid.objectives.VAE`, not
    `unbraid.objectives.vae.VAE`.

    Nor `unbraid.VAE`: which names the top of the package repeats may change, and digests must not change with them.
    """
    parts = cls.__module__.split(".")
    for depth in range(min(2, len(parts)), len(parts) + 1):
        module = sys.modules.get(".".join(parts[:depth]))
        if module is not None and vars(module).get(cls.__name__) is cls:
            return ".".join([*parts[:depth], cls.__name__])
    return f"{cls.__module__}.{cls.__qualname__}"


def _field_to_json(value: Any, annotation: Any, where: str, write: Callable[[Any], dict[str, Any]]) -> Any:
    if isinstance(value, _kinds(annotation)) and dataclasses.is_dataclass(value):
        return write(value)
    items = _items(value, annotation)
    if items is not None:
        return [_field_to_json(item, items, where, write) for item in value]
    # Checked, and so converted: 4 and 4.0 in a float field are the same recipe and must have the same digest.
    return _plain(check_value(value, annotation, where), where)


def _plain(value: Any, where: str) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise SpecError(f"{where} is {value!r}; a recipe holds numbers, texts, tuples of them and other recipes.")


def _items(value: Any, annotation: Any) -> Any:
    """What the annotation says of the entries of a list; None where the value is no list, or may not be one."""
    if not isinstance(value, (list, tuple)):
        return None
    return next(
        (typing.get_args(choice)[0] for choice in alternatives(annotation) if typing.get_origin(choice) is tuple), None
    )


def _resolve(path: Any, expected: Any, packages: Collection[str], where: str) -> type:
    """The class that the path names, if it may be imported and is of the expected kind."""
    if not isinstance(path, str) or not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", path):
        raise SpecError(
            f"{where}: the type is {path!r}; expected an import path such as 'unbraid.objectives.BetaTCVAE'."
        )
    if path.partition(".")[0] not in packages:
        raise SpecError(
            f"{where}: the type {path!r} is not from {', '.join(packages)}, so it is not imported. Name its package "
            "if you trust it."
        )
    parent, _, name = path.rpartition(".")
    try:
        module = importlib.import_module(parent)
    except ImportError as error:
        raise SpecError(f"{where}: {path!r} cannot be imported ({error}). It may be from another version.") from None
    valid: dict[str, type] = {name: value for name, value in vars(module).items() if _is_recipe(value, expected)}
    if name not in valid:
        raise SpecError(f"{where}: {path!r} is not {describe(expected)}. {suggestion(name, valid)}")
    return valid[name]


def _is_recipe(cls: Any, expected: Any) -> bool:
    is_kind = inspect.isclass(cls) and issubclass(cls, _kinds(expected))
    return is_kind and dataclasses.is_dataclass(cls) and not inspect.isabstract(cls)


def _kinds(annotation: Any) -> tuple[type, ...]:
    """The classes among the alternatives."""
    return tuple(
        choice for choice in alternatives(annotation) if isinstance(choice, type) and choice is not types.NoneType
    )
