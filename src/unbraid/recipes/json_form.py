"""Recipes to JSON and back.

A recipe is written as its fields plus the import path of its class: `{"type": "unbraid.objectives.BetaTCVAE", "beta":
6.0}`.
"""

import dataclasses
import importlib
import json
import re
from collections.abc import Callable, Collection
from typing import Any, final

from unbraid.errors import SpecError, UntrustedError
from unbraid.names import suggestion
from unbraid.recipes.annotations import check_value, describe, entries_of, hints_of, kinds_of
from unbraid.recipes.own_recipes import check_class
from unbraid.recipes.registry import is_recipe_class, public_path
from unbraid.source.kept_modules import source_in

Write = Callable[[Any], dict[str, Any]]


def to_json(recipe: Any) -> dict[str, Any]:
    """Returns the recipe as what JSON can hold. A value that could not be read back into its field is refused."""
    return written(recipe, to_json)


def written(recipe: Any, write: Write) -> dict[str, Any]:
    """Returns the recipe as what JSON can hold, with the recipes in its fields as `write` writes them."""
    if not dataclasses.is_dataclass(recipe) or isinstance(recipe, type):
        raise SpecError(f"{recipe!r} is a {type(recipe).__name__}; expected a recipe: an instance of a dataclass.")
    check_class(type(recipe))
    # Checked, and so converted: 4 and 4.0 in a float field are the same recipe and must have the same digest.
    return {"type": public_path(type(recipe))} | {
        name: in_json(check_value(getattr(recipe, name), hint, place), place, write)
        for name, hint in hints_of(type(recipe)).items()
        for place in [f"{type(recipe).__name__}: {name}"]
    }


def from_json(
    content: Any, expected: Any, *, packages: Collection[str] = (), kept: str = "", where: str = "spec"
) -> Any:
    """Returns what `to_json` wrote. `expected` is a class or an annotation; only classes of unbraid and of
    these top-level `packages` are ever imported.

    A class of one's own is read back by naming its package: `packages=["mine"]`. If its source is `kept`
    (`unbraid.source.keep`), it is made of that. Recipes in it that are written alike are one object.
    """
    return _Reader([packages] if isinstance(packages, str) else packages, kept).read(content, expected, where)


@final
class _Reader:
    """Reads one JSON. A recipe that it has read is not made again: thousands of specs share a data set and a net."""

    def __init__(self, packages: Collection[str], kept: str) -> None:
        self._packages, self._kept = packages, kept
        self._made: dict[tuple[type, str], Any] = {}

    def read(self, content: Any, expected: Any, where: str) -> Any:
        entries = entries_of(expected) if isinstance(content, (list, tuple)) else None
        if entries is not None and (kinds_of(entries) or any(isinstance(item, (dict, list)) for item in content)):
            indexed = (
                (item, f"{where}[{index}]" if isinstance(item, dict) else where) for index, item in enumerate(content)
            )
            return tuple(self.read(item, entries, place) for item, place in indexed)
        if not isinstance(content, dict):
            return check_value(content, expected, where)
        cls = _resolve(content.get("type"), expected, self._packages, self._kept, where)
        try:
            key = cls, json.dumps(content)
        except (TypeError, ValueError):  # a dictionary that comes from elsewhere, with a path or an array in it
            return self._make(cls, content, where)
        if key not in self._made:
            self._made[key] = self._make(cls, content, where)
        return self._made[key]

    def _make(self, cls: type, content: dict[str, Any], where: str) -> Any:
        hints, given = hints_of(cls), {name: value for name, value in content.items() if name != "type"}
        for name in given:
            if name not in hints:
                raise SpecError(f"{where}: {cls.__name__} has no field {name!r}. {suggestion(name, hints)}")
        if missing := [name for name in required_fields(cls) if name not in given]:
            raise SpecError(f"{where}: {cls.__name__} lacks {', '.join(missing)}, which has no default. Give it.")
        return cls(**{name: self.read(value, hints[name], f"{where}.{name}") for name, value in given.items()})


def required_fields(cls: type) -> list[str]:
    """Returns the names of the fields that have no default."""
    missing = dataclasses.MISSING
    return [
        each.name for each in dataclasses.fields(cls) if each.default is missing and each.default_factory is missing
    ]


def in_json(value: Any, where: str, write: Write) -> Any:
    """Returns a value of a field as what JSON can hold, with recipes as `write` writes them."""
    if isinstance(value, tuple):
        return [in_json(item, where, write) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if dataclasses.is_dataclass(value):
        return write(value)
    raise SpecError(f"{where} is {value!r}; a recipe holds numbers, texts, tuples of them and other recipes.")


def _resolve(path: Any, expected: Any, packages: Collection[str], kept: str, where: str) -> type:
    """Returns the class that the path names, if it may be imported and is of the expected kind."""
    if not isinstance(path, str) or not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", path):
        raise SpecError(
            f"{where}: the type is {path!r}; expected an import path such as 'unbraid.objectives.BetaTCVAE'."
        )
    package, (parent, _, name) = path.partition(".")[0], path.rpartition(".")
    is_kept = bool(kept) and parent in source_in(kept).modules
    if package not in ("unbraid", *packages) and not is_kept:
        raise UntrustedError(
            f"{where}: the type {path!r} is not from {', '.join(dict.fromkeys(('unbraid', *packages)))}, so it is not "
            f"imported. If you trust it, name its package: packages=[{package!r}], or --packages {package}.",
            package,
        )
    try:
        module = importlib.import_module(f"{kept}.{parent}" if is_kept else parent)
    except ImportError as error:
        raise SpecError(f"{where}: {path!r} cannot be imported ({error}). It may be from another version.") from None
    except Exception as error:
        if package == "unbraid":
            raise
        raise SpecError(f"{where}: {path!r} cannot be imported ({type(error).__name__}: {error}).") from error
    found: Any = vars(module).get(name)
    if not is_recipe_class(found, expected):
        valid = [name for name, value in vars(module).items() if is_recipe_class(value, expected)]
        raise SpecError(f"{where}: {path!r} is not {describe(expected)}. {suggestion(name, valid)}")
    cls: type = found
    return cls
