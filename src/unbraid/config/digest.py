"""The digest of a config, which survives a field that is added later."""

import dataclasses
import functools
import hashlib
import json
from typing import Any

from unbraid.config.annotations import check_value, default_of, hints_of
from unbraid.config.json_form import Write, in_json, written
from unbraid.config.own_configs import own_source


def digest(config: Any) -> str:
    """Returns twelve hexadecimal digits that name what the config makes: they change when any field does.

    A field that is added later leaves them as they were where it has its default. A default that changes would leave
    them too, so its class then raises `config_version: ClassVar[int]`, which counts wherever it is not 1. Of classes
    that are not of unbraid the source counts.
    """
    source = own_source(config)
    content = _without_defaults(config) | ({"own source": source.identity} if source else {})  # no name of a field
    canonical = json.dumps(content, sort_keys=True, allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def config_version(cls: type) -> int:
    """Returns how often the defaults of a config, or what they make, have changed since it was written, plus one."""
    version: int = getattr(cls, "config_version", 1)
    return version


@functools.cache
def defaults(cls: type) -> dict[str, Any]:
    """Returns the defaults of a config by field, as JSON. Those that are configs are written without their own."""
    found = {field.name: default_of(field) for field in dataclasses.fields(cls)}
    places = {name: f"{cls.__name__}: {name}" for name in found}
    return {
        name: in_json(
            check_value(value, hints_of(cls)[name], places[name]), places[name], _without_defaults_or_versions
        )
        for name, value in found.items()
        if value is not dataclasses.MISSING
    }


def _without_defaults(config: Any) -> dict[str, Any]:
    """Returns the type, the version where it is not 1, and the fields that differ from their defaults.

    A default that is a config differs too where its version, or that of a config in it, is not 1.
    """
    version = config_version(type(config))
    versions = {} if version == 1 else {"config_version": version}
    return versions | _changed(config, _without_defaults)


def _without_defaults_or_versions(config: Any) -> dict[str, Any]:
    return _changed(config, _without_defaults_or_versions)


def _changed(config: Any, write: Write) -> dict[str, Any]:
    cls: type = type(config)
    own, content = defaults(cls), written(config, write)
    return {name: value for name, value in content.items() if name not in own or value != own[name]}
