"""Conversion of configs to JSON and back.

The JSON of a config contains its fields and the import path of its class: `{"type": "unbraid.objectives.BetaTCVAE",
"beta": 6.0}`.
"""

import dataclasses
import functools
import importlib
import json
import re
import sys
from collections.abc import Callable, Collection
from keyword import iskeyword
from typing import Any, final

from unbraid._internal.names import suggestion
from unbraid._internal.notebook_source import MAIN
from unbraid.config.annotations import (
    check_value,
    describe,
    entries_of,
    hints_of,
    is_config_class,
    kinds_of,
    public_path,
    required_fields,
)
from unbraid.config.config import Config, check_class
from unbraid.errors import RunError, SpecError, UntrustedError

_MAX_PATH = 500  # characters
Write = Callable[[Any], dict[str, Any]]


def to_json(config: Any) -> dict[str, Any]:
    """Converts a config to JSON. Raises an error for a value that `from_json` cannot read."""
    return config_to_json(config, to_json)


def config_to_json(config: Any, write: Write) -> dict[str, Any]:
    """Converts a config to JSON. The function `write` converts nested configs."""
    if not dataclasses.is_dataclass(config) or isinstance(config, type):
        raise SpecError(f"Expected a config (an instance of a dataclass), got {config!r}. Pass e.g. BetaVAE(beta=4.0).")
    check_class(type(config))
    config = config.pinned() if isinstance(config, Config) else config
    content: dict[str, Any] = {"type": public_path(type(config))}
    for name, annotation in hints_of(type(config)).items():
        where = f"{type(config).__name__}: {name}"
        # check_value also converts: 4 and 4.0 in a float field must have the same digest.
        content[name] = value_to_json(check_value(getattr(config, name), annotation, where), write)
    return content


def value_to_json(value: Any, write: Write) -> Any:
    """Converts the value of a field to JSON. The function `write` converts configs."""
    if isinstance(value, tuple):
        return [value_to_json(item, write) for item in value]
    return write(value) if dataclasses.is_dataclass(value) else value


def from_json(
    content: Any,
    expected: Any,
    *,
    packages: Collection[str] = (),
    where: str = "spec",
    missing: dict[str, str] | None = None,
) -> Any:
    """Converts the JSON of a config to the config. `expected` is the class or annotation of the config.

    Classes are imported only from unbraid and the top-level `packages`. Other modules must be imported already. If
    `missing` is given, a user-defined class that is not available is replaced by a stand-in with the same fields, and
    `missing` maps the path of the class to the reason. Checks that would read a dataset or build a net are skipped.
    """
    return _Reader([packages] if isinstance(packages, str) else packages, missing).read(content, expected, where)


@final
class _Reader:
    """Converts JSON to configs. Equal JSON gives one object, because thousands of specs share datasets and nets."""

    def __init__(self, packages: Collection[str], missing: dict[str, str] | None) -> None:
        self._packages, self._missing = packages, missing
        self._made: dict[tuple[type, str], Any] = {}

    def read(self, content: Any, expected: Any, where: str) -> Any:
        entries = entries_of(expected) if isinstance(content, (list, tuple)) else None
        if entries is not None and (kinds_of(entries) or any(isinstance(item, (dict, list)) for item in content)):
            return tuple(
                self.read(item, entries, f"{where}[{index}]" if isinstance(item, dict) else where)
                for index, item in enumerate(content)
            )
        if not isinstance(content, dict):
            return check_value(content, expected, where)
        try:
            cls = _resolve(content.get("type"), expected, self._packages, where)
            key = cls, json.dumps(content, default=repr)
            if key not in self._made:
                self._made[key] = self._make(cls, content, where)
            return self._made[key]
        except SpecError as error:
            path, kinds = str(content.get("type")), kinds_of(expected)
            if self._missing is None or not kinds or not _is_path(path) or path.startswith("unbraid."):
                raise
            self._missing[path] = str(error)
            fields = {name: self._value(value, f"{where}.{name}") for name, value in content.items() if name != "type"}
            return _stand_in_class(path, kinds[0], tuple((name, type(value)) for name, value in fields.items()))(
                **fields
            )

    def _value(self, content: Any, where: str) -> Any:
        """Returns the value of a field without a known annotation."""
        if isinstance(content, list):
            return tuple(self._value(item, where) for item in content)
        return self.read(content, Config, where) if isinstance(content, dict) else content

    def _make(self, cls: type, content: dict[str, Any], where: str) -> Any:
        hints, given = hints_of(cls), {name: value for name, value in content.items() if name != "type"}
        for name in given:
            if name not in hints:
                raise SpecError(f"{where}: {cls.__name__} has no field {name!r}. {suggestion(name, hints)}")
        if missing := [name for name in required_fields(cls) if name not in given]:
            raise SpecError(f"{where}: {cls.__name__} lacks {', '.join(missing)}, which has no default. Add a value.")
        values = {name: self.read(value, hints[name], f"{where}.{name}") for name, value in given.items()}
        if self._missing is None:
            return cls(**values)
        for name in hints:
            path = "path" if name == "sha256" else name.removesuffix("_sha256")
            if path != name and values.get(path) and not values.get(name):  # else the config would read the file
                raise SpecError(f"{where}: {cls.__name__} has no checksum of the file {values[path]!r}. Add {name}.")
        return getattr(cls, "unchecked", cls)(**values)


def _is_path(path: Any) -> bool:
    is_text = isinstance(path, str) and len(path) <= _MAX_PATH
    return is_text and re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", path) is not None


def _resolve(path: Any, expected: Any, packages: Collection[str], where: str) -> type:
    """Imports the class at a path. Raises an error if the import fails or the annotation does not allow the class."""
    if not _is_path(path):
        raise SpecError(
            f"{where}: the type is {path!r}; expected an import path such as 'unbraid.objectives.BetaTCVAE'."
        )
    package, (parent, _, name) = path.partition(".")[0], path.rpartition(".")
    if package not in ("unbraid", *packages) and parent not in sys.modules:
        raise UntrustedError(
            f"{where}: the type {path!r} is not imported; expected a class of one of the packages "
            f"{', '.join(dict.fromkeys(('unbraid', *packages)))}. If you trust {package}, pass "
            f"packages=[{package!r}], or --packages {package}.",
            package,
        )
    try:
        module = sys.modules.get(parent) or importlib.import_module(parent)
    except Exception as error:
        if package == "unbraid" and not isinstance(error, ImportError):
            raise
        raise SpecError(
            f"{where}: {path!r} cannot be imported ({type(error).__name__}: {error}). Install the version of {package} "
            "that wrote this config."
        ) from error
    found: Any = vars(module).get(name)
    if found is None and parent == MAIN:
        raise UntrustedError(
            f"{where}: {name} was defined in a script or a notebook, and is not defined in this process. Define the "
            "same class before opening the run.",
            MAIN,
        )
    if not is_config_class(found, expected):
        valid = [name for name, value in vars(module).items() if is_config_class(value, expected)]
        raise SpecError(f"{where}: {path!r} is not {describe(expected)}. {suggestion(name, valid)}")
    cls: type = found
    return cls


@functools.lru_cache(maxsize=1024)
def _stand_in_class(path: str, kind: Any, fields: tuple[tuple[str, type], ...]) -> Any:
    """Creates a stand-in: a subclass of `kind` with this name and these fields, whose methods raise a RunError.

    The class is cached, so that stand-ins with equal fields compare equal.
    """
    module, _, name = path.rpartition(".")
    if not all(each.isidentifier() and not each.startswith("_") and not iskeyword(each) for each, _ in fields):
        names = ", ".join(each for each, _ in fields)
        raise SpecError(f"{path} has the fields {names}; expected public Python identifiers. Restore the record.")

    def refuse(_: Any) -> Any:
        raise RunError(
            f"The class {path} is not available. Import or define the class, then open the run again: "
            f"Run.open(folder, packages=[{path.partition('.')[0]!r}])."
        )

    namespace = {
        **dict.fromkeys(kind.__abstractmethods__, property(refuse)),
        "__module__": module,
        "__post_init__": lambda self: None,
        "is_stand_in": True,
    }
    by_name = [(each, kind_of_value, dataclasses.field(kw_only=True)) for each, kind_of_value in fields]
    return dataclasses.make_dataclass(name, by_name, bases=(kind,), namespace=namespace, frozen=True)
