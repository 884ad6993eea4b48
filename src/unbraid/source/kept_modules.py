"""Modules that are made of the text that a run keeps, in place of what can be imported now.

Those of one source lie in a folder of their own among the modules of Python, `unbraid_source_0123456789abcdef`, and
import each other there. Their text is executed when they are first imported: a user asks for that.
"""

import builtins
import functools
import importlib
import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, final

from unbraid.source.own_source import OwnSource
from unbraid.source.syntax import short_digest

_PREFIX = "unbraid_source_"

_kept: dict[str, OwnSource] = {}


def keep(source: OwnSource) -> str:
    """Returns the folder under which modules of this source can be imported. Nothing is executed yet."""
    folder = _PREFIX + short_digest(json.dumps(source.identity, sort_keys=True).encode())
    _kept.setdefault(folder, source)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
    return folder


def split_name(module: str) -> tuple[str, str]:
    """Returns the folder that a module is kept in, "" if in none, and the name that it had when it was imported."""
    folder, _, name = module.partition(".")
    return (folder, name) if folder in _kept and name else ("", module)


def source_in(folder: str) -> OwnSource:
    """Returns the source that `keep` was given."""
    return _kept[folder]


def _holds(folder: str, name: str) -> bool:
    """Returns whether a module or a package around one is kept."""
    modules = [other for other, module in _kept[folder].modules.items() if isinstance(module.text, str)]
    return name in modules or any(other.startswith(f"{name}.") for other in modules)


@final
class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if fullname in _kept:
            return ModuleSpec(fullname, _Loader(fullname, ""), is_package=True)
        folder, name = split_name(fullname)
        if not folder or not _holds(folder, name):
            return None
        module = _kept[folder].modules.get(name)
        return ModuleSpec(fullname, _Loader(folder, name), is_package=module.is_package if module is not None else True)


@final
class _Loader(Loader):
    """Executes the text of a module, or nothing where a package has none."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._name = folder, name

    def exec_module(self, module: ModuleType) -> None:
        own = _kept[self._folder].modules.get(self._name)
        if own is None:
            return
        # Every function of the module looks there for what `import` means to it.
        vars(module)["__builtins__"] = vars(builtins) | {"__import__": functools.partial(_import, self._folder)}
        code = compile(own.text, own.file or f"<kept {self._name}>", "exec", dont_inherit=True)
        exec(code, vars(module))  # noqa: S102 (asked for by name: trust="source")


def _import(
    folder: str,
    name: str,
    globals: Mapping[str, Any] | None = None,
    locals: Mapping[str, Any] | None = None,
    fromlist: Sequence[str] | None = None,
    level: int = 0,
) -> Any:
    """Imports what is kept from the folder, and all else as ever."""
    if level:
        package = str((globals or {}).get("__package__", ""))
        name, level = split_name(importlib.util.resolve_name("." * level + name, package))[1], 0
    if not _holds(folder, name):
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    module = importlib.import_module(f"{folder}.{name}")
    for each in fromlist or ():
        if _holds(folder, f"{name}.{each}"):
            importlib.import_module(f"{folder}.{name}.{each}")
    return module if fromlist else sys.modules[f"{folder}.{name.partition('.')[0]}"]
