"""Modules of the user: found without importing them, and remembered as they were when they were imported.

A module is the user's if it is neither of Python, nor of unbraid, nor of an installed package.
"""

import functools
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import SOURCE_SUFFIXES, ModuleSpec
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.source.syntax import imported_names, short_digest, syntax_digest
from unbraid.errors import SpecError

MAIN = "__main__"
# unbraid and its dependencies. A run records their versions; its digest does not depend on them.
_DEPENDENCIES = (
    *("unbraid", "einops", "h5py", "jaxtyping", "jinja2", "numpy", "PIL", "rich", "safetensors", "scipy", "sklearn"),
    *("torch", "typer"),
)
_INSTALLED = ("site-packages", "dist-packages")

_imported: dict[str, tuple[ModuleSpec, "OwnModule"]] = {}
"""Each module as its file was when it was first read, with the spec of its import, which a reload replaces."""


@final
@dataclass(frozen=True)
class OwnModule:
    """One module: its text, or the bytes of a compiled one; whether it is a package; and its file."""

    text: str | bytes
    is_package: bool = False
    file: str | None = None
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        digest = short_digest(self.text) if isinstance(self.text, bytes) else syntax_digest(self.text)
        object.__setattr__(self, "digest", digest)

    def imports(self, name: str) -> tuple[str, ...]:
        """Returns the names that this module imports, which is called `name`."""
        if isinstance(self.text, bytes):
            return ()
        return imported_names(self.text, name if self.is_package else name.rpartition(".")[0])


@final
@dataclass(frozen=True)
class OwnSource:
    """The user's modules by name, and the versions of the installed packages that they import."""

    modules: Mapping[str, OwnModule] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.modules or self.versions)

    @cached_property
    def identity(self) -> dict[str, dict[str, str]]:
        """Returns a digest for each module, and a version for each package."""
        digests = {name: module.digest for name, module in sorted(self.modules.items())}
        return {"modules": digests, "packages": dict(sorted(self.versions.items()))}


def closure(names: Iterable[str], main: OwnModule | None = None) -> OwnSource:
    """Returns these modules, `main` and all user modules that they import, at any depth."""
    modules = {} if main is None else {MAIN: main}
    waiting, seen, versions = [*names, *(() if main is None else main.imports(MAIN))], {MAIN}, dict[str, str]()
    while waiting:
        name = waiting.pop()
        parent, _, _ = name.rpartition(".")
        if name in seen or not name or is_of_python(name) or _top(name) in _DEPENDENCIES:
            continue
        seen.add(name)
        waiting.append(parent)  # it is imported first
        if version := installed_version(name):
            versions[_top(name)] = version
        elif module := imported_module(name):
            modules[name] = module
            waiting.extend(module.imports(name))
    return OwnSource(modules, versions)


def imported_module(name: str) -> OwnModule | None:
    """Returns a module as it was when it was imported; None if there is none, or it has no file."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and name in _imported and _imported[name][0] is spec:
        return _imported[name][1]
    module = module_on_disk(name)
    if module is not None and spec is not None:  # one that is not imported yet will be what its file is then
        _imported[name] = spec, module
    return module


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
            f"The source of the module {name} cannot be read ({error}), so a run could not record what it was trained "
            f"with. Restore {path}."
        ) from None


def installed_version(name: str) -> str | None:
    """Returns the version of the installed package of a module, without the label of a build (2.1+cu12)."""
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


def _found(name: str) -> ModuleSpec | None:
    """Returns where a module is, without importing it or the packages around it."""
    module: Any = sys.modules.get(name)
    if (spec := getattr(module, "__spec__", None)) is not None:
        return spec
    parent, where = name.rpartition(".")[0], None
    if parent:
        of_parent = _found(parent)
        if of_parent is None or of_parent.submodule_search_locations is None:
            return None
        where = list(of_parent.submodule_search_locations)
    found = (finder.find_spec(name, where) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)


@functools.cache
def _version(package: str) -> str | None:
    """Returns the version of the distribution of a package, which mostly has the same name."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(package, [])
        return importlib.metadata.version(names[0]) if names else None
