"""Modules of the user's own: where they are, what they import, and what they were when they were imported.

A module is the user's own if it is neither of Python, nor of unbraid, nor of an installed package.
"""

import contextlib
import functools
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from importlib.machinery import SOURCE_SUFFIXES, ModuleSpec
from pathlib import Path
from typing import Any

from unbraid import files
from unbraid.errors import SpecError
from unbraid.source.own_source import OwnModule, OwnSource
from unbraid.source.patched import is_patched
from unbraid.source.syntax import imported_names

MAIN = "__main__"
# What runs of our own classes rest on as well: the versions of these are written down with a run, and name none.
_RESTED_ON = (
    *("unbraid", "einops", "h5py", "jaxtyping", "jinja2", "numpy", "PIL", "rich", "safetensors", "scipy", "sklearn"),
    *("torch", "typer"),
)
_INSTALLED = ("site-packages", "dist-packages")

_imported: dict[str, tuple[Any, OwnModule]] = {}
"""Each module as its file was when it was first looked at, with what Python says of its import, which a reload
replaces.
"""


_closures: dict[Any, tuple[OwnSource, dict[str, Any]]] = {}
"""What was found of modules before, and the states of their files and imports then: a project may have many files."""


def closure(names: Iterable[str], start: OwnSource) -> OwnSource:
    """Returns these modules and all that they and those of `start` import, as they were when they were imported."""
    roots = frozenset(names)
    key = roots, tuple(start.identity["modules"].items())
    if key in _closures:
        source, states = _closures[key]
        if all(_state(name, source.modules[name]) == state for name, state in states.items()):
            return source
    source = _closure(roots, start)
    own = {name: module for name, module in source.modules.items() if name not in start.modules}
    states = {name: _state(name, module) for name, module in own.items()}  # before the files are looked at again
    if all(_is_on_disk(name, module) for name, module in own.items()):
        _closures[key] = source, states
    return source


def _state(name: str, module: OwnModule) -> Any:
    """Returns what changes when a module is imported, or its file is written."""
    try:
        found = Path(module.file or "").stat()
    except OSError:
        return None
    return getattr(sys.modules.get(name), "__spec__", None), found.st_mtime_ns, found.st_size, found.st_ino


def _is_on_disk(name: str, module: OwnModule) -> bool:
    """Returns whether a module is what its file says; if not, code in memory may be replaced at any time."""
    try:
        now = module_on_disk(name)
    except SpecError:
        return False
    return now is not None and now.digest == module.digest


def _closure(names: Iterable[str], start: OwnSource) -> OwnSource:
    modules, versions = dict(start.modules), dict(start.versions)
    waiting = [*names, *(name for own, module in modules.items() for name in _imports(own, module))]
    seen = set(modules)
    while waiting:
        name = waiting.pop()
        parent, _, _ = name.rpartition(".")
        if name in seen or not name or is_of_python(name) or _top(name) in _RESTED_ON:
            continue
        seen.add(name)
        waiting.append(parent)  # it is imported first
        if version := installed_version(name):
            versions[_top(name)] = version
        elif module := imported_module(name):
            modules[name] = module
            waiting.extend(_imports(name, module))
    return OwnSource(modules, versions)


def imported_module(name: str) -> OwnModule | None:
    """Returns a module as it was when it was imported; None if there is none, or it has no file."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and name in _imported and _imported[name][0] is spec:
        return _as_patched(name)
    module = module_on_disk(name)
    if module is not None and spec is not None:  # one that is not imported yet will be what its file is then
        _imported[name] = spec, module
    return module


def _as_patched(name: str) -> OwnModule:
    """Returns a module as it was when it was imported, or as its file is now if that is what is in memory."""
    spec, seen = _imported[name]
    with contextlib.suppress(SpecError):  # it is being edited
        now = module_on_disk(name)
        if now is None or now.digest == seen.digest or isinstance(now.text, bytes) or isinstance(seen.text, bytes):
            return seen
        if is_patched(sys.modules[name], seen.text, now.text):
            _imported[name] = spec, now
    return _imported[name][1]


def module_on_disk(name: str) -> OwnModule | None:
    """Returns a module as its file is now; None if there is none, or it has no file."""
    spec = _found(name)
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    path, is_package = Path(spec.origin), spec.submodule_search_locations is not None
    try:
        if path.suffix in SOURCE_SUFFIXES and path.is_file():
            text: str | bytes = importlib.util.decode_source(files.read_bytes(path))
        else:  # in a .zip, or compiled
            text = getattr(spec.loader, "get_source", lambda _: None)(name) or files.read_bytes(path)
        return OwnModule(text, is_package, str(path))
    except (OSError, SyntaxError, UnicodeError, ImportError) as error:
        raise SpecError(
            f"The source of the module {name} cannot be read ({error}), so what is trained with it could not be told "
            f"from what is trained after a change of it. Restore {path}."
        ) from None


def installed_version(name: str) -> str | None:
    """Returns the version of the installed package that a module is of, without what tells builds apart (2.1+cu12)."""
    spec = _found(name)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or [])]
    if not any(part in Path(place).parts for place in places if place for part in _INSTALLED):
        return None
    version = _version(_top(name))
    return None if version is None else version.partition("+")[0]


def is_of_python(name: str) -> bool:
    return _top(name) in sys.stdlib_module_names or _top(name) in sys.builtin_module_names


def _top(name: str) -> str:
    return name.partition(".")[0]


def _imports(name: str, module: OwnModule) -> tuple[str, ...]:
    if isinstance(module.text, bytes):
        return ()
    return imported_names(module.text, name if module.is_package else name.rpartition(".")[0])


def _found(name: str) -> ModuleSpec | None:
    """Returns where a module is, without importing it or the packages it is in."""
    if (module := sys.modules.get(name)) is not None and getattr(module, "__spec__", None) is not None:
        return module.__spec__
    parent, _, _ = name.rpartition(".")
    where = None
    if parent:
        of_parent = _found(parent)
        if of_parent is None or of_parent.submodule_search_locations is None:
            return None
        where = list(of_parent.submodule_search_locations)
    for finder in sys.meta_path:
        if (spec := finder.find_spec(name, where)) is not None:
            return spec
    return None


@functools.cache
def _version(package: str) -> str | None:
    """Returns the version of the distribution that an installed package is of."""
    import importlib.metadata  # which takes a moment

    for distribution in _distributions(package):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _distributions(package: str) -> Iterator[str]:
    """Yields what the distribution may be called: as the package is, mostly. To look through all of them takes long."""
    import importlib.metadata

    yield package
    yield from importlib.metadata.packages_distributions().get(package, [])
