"""Fields of a config and its nested configs, by dotted paths such as "objective.beta"."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from unbraid._internal.names import suggestion
from unbraid.config.annotations import check_value, hints_of
from unbraid.errors import SpecError


def fields_of(config: Any) -> dict[str, Any]:
    """Returns a dict from path to value, for every field of a config and of its nested configs.

    Configs in a tuple are numbered: "model.latents.parts.0.size".
    """
    found: dict[str, Any] = {}
    for name, value in _children(config).items():
        found[name] = value
        found |= {f"{name}.{path}": below for path, below in fields_of(value).items()}
    return found


def with_fields(config: Any, changes: Mapping[str, Any], where: str = "") -> Any:
    """Returns a copy of the config with the fields at these paths replaced, all at once.

    If both a field and a path into the field are given, the path applies to the new value of the field. `where` is the
    path of the config in error messages.
    """
    by_field: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        if not isinstance(path, str):
            raise SpecError(f"A field is {path!r}; expected its path as a text, such as 'objective.beta'.")
        name, _, rest = path.partition(".")
        by_field.setdefault(name, {})[rest] = value
    children, changed = _children(config), {}
    for name, below in by_field.items():
        if name not in children:
            raise SpecError(_no_such_field(config, name, where))
        value = below.pop("", children[name])
        changed[name] = with_fields(value, below, f"{where}.{name}".lstrip(".")) if below else value
    if isinstance(config, tuple):
        return tuple(changed.get(str(place), entry) for place, entry in enumerate(config))
    cls, hints = type(config), hints_of(type(config))
    checked = {name: check_value(value, hints[name], f"{cls.__name__}: {name}") for name, value in changed.items()}
    return dataclasses.replace(config, **checked)


def _children(value: Any) -> dict[str, Any]:
    """Returns the fields of a config or the entries of a tuple of configs. Empty for any other value."""
    if isinstance(value, tuple) and any(map(dataclasses.is_dataclass, value)):
        return {str(place): entry for place, entry in enumerate(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {}


def _no_such_field(value: Any, name: str, where: str) -> str:
    place, children = where or "the spec", _children(value)
    if isinstance(value, tuple) and children:
        return f"{place} has no entry {name!r}; expected a number from 0 to {len(value) - 1}."
    if not dataclasses.is_dataclass(value):
        fix = f"Set {where!r} to a config first." if value is None else "Shorten the path."
        return f"{place} is {value!r}; expected a config with the field {name!r}. {fix}"
    return f"{place} is a {type(value).__name__} without a field {name!r}. {suggestion(name, children)}"
