"""Digests of configs and of the source of their user-defined classes.

A new field with a default does not change the digests of existing configs.
"""

import contextlib
import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from unbraid._internal.notebook_source import MAIN
from unbraid._internal.source import UserSource, check_importable, short_digest, source_of
from unbraid.config.annotations import check_value, default_of, hints_of
from unbraid.config.json_form import config_to_json, value_to_json
from unbraid.errors import SpecError


def digest(config: Any) -> str:
    """Returns a digest of twelve hexadecimal digits that depends on every field.

    Fields with their default value are omitted, so that a new field does not change the digest. A class whose defaults
    change must increase `config_version: ClassVar[int]`, which is included if it is not 1. The digest also includes the
    source of user-defined classes.
    """
    source = user_source(config)
    # No field is named "own source".
    content = _without_defaults(config) | ({"own source": source.identity} if source else {})
    canonical = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def config_version(cls: type) -> int:
    """Returns the config version of a class: 1 plus the number of changes to its defaults or to their effects."""
    version: int = getattr(cls, "config_version", 1)
    return version


def user_source(config: Any) -> UserSource:
    """Returns the source of the user-defined classes of a config and its nested configs."""
    classes = dict.fromkeys(_classes(config))
    for cls in classes:
        check_importable(cls)
    return source_of(classes)


def missing_classes(config: Any) -> list[str]:
    """Returns the import paths of the missing classes of a config, which `from_json` replaced by stand-ins."""
    found = dict.fromkeys(cls for cls in _classes(config) if getattr(cls, "is_stand_in", False))
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in found]


def classes_of_main(config: Any) -> list[str]:
    """Returns the names of config classes defined in `__main__`, which no other process can import."""
    return [cls.__qualname__ for cls in dict.fromkeys(_classes(config)) if cls.__module__ == MAIN]


def packages_of(config: Any) -> set[str]:
    """Returns the top-level modules of the classes of a config and its nested configs."""
    return {cls.__module__.partition(".")[0] for cls in _classes(config)}


def source_digest(config: Any) -> str | None:
    """Returns a digest of the source of user-defined classes, or None without user-defined classes or their source."""
    with contextlib.suppress(SpecError):
        source = source_of(dict.fromkeys(_classes(config)))
        return short_digest(json.dumps(source.identity).encode()) if source else None
    return None


@functools.cache
def defaults(cls: type) -> dict[str, Any]:
    """Returns the default of each field of a config class as JSON. Nested configs omit their own default values."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if (default := default_of(field)) is not dataclasses.MISSING:
            value = check_value(default, hints_of(cls)[field.name], f"{cls.__name__}: {field.name}")
            found[field.name] = value_to_json(value, partial(_without_defaults, with_versions=False))
    return found


def _without_defaults(config: Any, *, with_versions: bool = True) -> dict[str, Any]:
    """Converts a config to JSON: its type, its version if not 1, and the fields that differ from their defaults.

    A field with a config of a version other than 1, also in its nested configs, always counts as different.
    """
    cls: type = type(config)
    default, content = defaults(cls), config_to_json(config, partial(_without_defaults, with_versions=with_versions))
    changed = {name: value for name, value in content.items() if name not in default or value != default[name]}
    version = config_version(cls)
    return {"config_version": version} | changed if with_versions and version != 1 else changed


def _classes(value: Any) -> Iterator[type]:
    if isinstance(value, tuple):
        for item in value:
            yield from _classes(item)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield type(value)
        yield from getattr(value, "wrapped_classes", ())
        for field in dataclasses.fields(value):
            yield from _classes(getattr(value, field.name))
