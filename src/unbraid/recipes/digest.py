"""The digest of a recipe, which survives a field that is added later."""

import dataclasses
import functools
import hashlib
import json
from typing import Any

from unbraid.recipes.annotations import check_value, default_of, hints_of
from unbraid.recipes.json_form import Write, in_json, written
from unbraid.recipes.own_recipes import own_source


def digest(recipe: Any) -> str:
    """Returns twelve hexadecimal digits that name what the recipe makes: they change when any field does.

    A field that is added later leaves them as they were where it has its default. A default that changes would leave
    them too, so its class then raises `recipe_version: ClassVar[int]`, which counts wherever it is not 1. Of classes
    that are not of unbraid the source counts.
    """
    source = own_source(recipe)
    content = _without_defaults(recipe) | ({"own source": source.identity} if source else {})  # no name of a field
    canonical = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def recipe_version(cls: type) -> int:
    """Returns how often the defaults of a recipe, or what they make, have changed since it was written, plus one."""
    version: int = getattr(cls, "recipe_version", 1)
    return version


@functools.cache
def defaults(cls: type) -> dict[str, Any]:
    """Returns the defaults of a recipe by field, as JSON. Those that are recipes are written without their own."""
    found = {field.name: default_of(field) for field in dataclasses.fields(cls)}
    places = {name: f"{cls.__name__}: {name}" for name in found}
    return {
        name: in_json(
            check_value(value, hints_of(cls)[name], places[name]), places[name], _without_defaults_or_versions
        )
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


def _changed(recipe: Any, write: Write) -> dict[str, Any]:
    cls: type = type(recipe)
    own, content = defaults(cls), written(recipe, write)
    return {name: value for name, value in content.items() if name not in own or value != own[name]}
