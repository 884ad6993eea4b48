"""Source of user-defined classes: the text of their modules, and the versions of imported packages.

A user module belongs neither to Python, nor to unbraid, nor to an installed package. Its text is read without importing
the module, compared, and saved with a run. The saved text is never executed.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.machinery import SOURCE_SUFFIXES, ModuleSpec
from pathlib import Path
from typing import Any, final

from unbraid._internal import files
from unbraid._internal.notebook_source import MAIN, definitions_of, remember_script
from unbraid.errors import SpecError

# unbraid and its dependencies. A run records their versions; its digest does not depend on them.
_DEPENDENCIES = (
    *("unbraid", "einops", "h5py", "jaxtyping", "jinja2", "numpy", "PIL", "rich", "safetensors", "scipy", "sklearn"),
    *("torch", "typer"),
)
_INSTALLED = ("site-packages", "dist-packages")
_DIGITS = 16
# Layout rather than behavior. The other fields do not depend on the version of Python.
_LEFT_OUT = ("ctx", "kind", "type_comment", "type_ignores")
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_imported: dict[str, tuple[ModuleSpec, "OwnModule"]] = {}
"""Each module with its text at import time, and its import spec, which a reload replaces."""


@final
@dataclass(frozen=True)
class OwnModule:
    """A user module: its text (or bytes if compiled), its file, and whether it is a package."""

    text: str | bytes
    is_package: bool = False
    file: str | None = None

    @cached_property
    def digest(self) -> str:
        return short_digest(self.text) if isinstance(self.text, bytes) else _syntax_digest(self.text)


@final
@dataclass(frozen=True)
class OwnSource:
    """User modules by name, and the versions of the installed packages they import."""

    modules: Mapping[str, OwnModule] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.modules or self.versions)

    @property
    def identity(self) -> dict[str, dict[str, str]]:
        """Digest of each module and version of each package."""
        digests = {name: module.digest for name, module in sorted(self.modules.items())}
        return {"modules": digests, "packages": dict(sorted(self.versions.items()))}


def is_own(cls: type) -> bool:
    """Returns whether a class is defined outside unbraid and Python, and is not a stand-in for a missing class."""
    is_stand_in = getattr(cls, "is_stand_in", False)
    return _top(cls.__module__) != "unbraid" and _top(cls.__module__) not in sys.stdlib_module_names and not is_stand_in


def remember(cls: type) -> None:
    """Reads the source of a class at its definition, because its file may change after the import."""
    if is_own(cls):
        with contextlib.suppress(SpecError, OSError):
            if cls.__module__ == MAIN:
                remember_script()
            else:
                _closure([cls.__module__])


def source_of(classes: Iterable[type]) -> OwnSource:
    """Returns the source of the user-defined classes among these classes and their bases."""
    own = {base for cls in classes if is_own(cls) for base in cls.__mro__ if is_own(base)}
    in_main = [cls for cls in own if cls.__module__ == MAIN]
    main = OwnModule(definitions_of(in_main)) if in_main else None
    return _closure({cls.__module__ for cls in own} - {MAIN}, main) if own else OwnSource()


def check_importable(cls: type) -> None:
    """Raises an error for a class that cannot be imported by its name from its module."""
    held: Any = vars(sys.modules[cls.__module__]).get(cls.__name__) if cls.__module__ in sys.modules else None
    if not is_own(cls) or held is cls:
        return
    if held is not None and "<locals>" not in cls.__qualname__:
        raise SpecError(
            f"{cls.__name__} was defined again after this config was made ({cls.__module__} was reloaded, or its cell "
            "run once more). Make it again, and the spec that holds it."
        )
    raise SpecError(
        f"{cls.__name__} is defined inside a function or under another name ({cls.__module__}.{cls.__qualname__}), so "
        "a run could not find it again. Define it at the top of a module, and make values of the function fields."
    )


def check_current(source: OwnSource) -> None:
    """Raises an error for modules whose files changed after the import, because Python still runs the old text."""
    for name, module in source.modules.items():
        if name == MAIN or module.file is None or name not in sys.modules or _imported_module(name) is not module:
            continue
        on_disk = module_on_disk(name)
        if on_disk is not None and on_disk.digest != module.digest:
            raise SpecError(
                f"{module.file} was changed since {name} was imported, and Python still runs the old text. Reload it "
                f"(importlib.reload({name.rpartition('.')[2]})) and make the spec again, or restart Python."
            )


def module_on_disk(name: str) -> OwnModule | None:
    """Returns a module with the current text of its file, or None without a file."""
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
            f"The source of the module {name} cannot be read ({error}), so a run could not record it. Restore {path}."
        ) from None


def installed_version(name: str) -> str | None:
    """Returns the installed version of a module's package, without a build label (the +cu12 of 2.1+cu12)."""
    spec = _found(name)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or [])]
    if not any(part in Path(place).parts for place in places if place for part in _INSTALLED):
        return None
    version = _version(_top(name))
    return None if version is None else version.partition("+")[0]


def short_digest(content: bytes) -> str:
    """Returns the first hexadecimal digits of the SHA-256."""
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def _closure(names: Iterable[str], main: OwnModule | None = None) -> OwnSource:
    """Returns these modules, `main`, and all user modules imported by them directly or indirectly."""
    modules, versions = dict[str, OwnModule](), dict[str, str]()
    waiting, seen = list(names), set[str]()
    if main is not None:
        modules[MAIN] = main
        waiting += _imported_names(main, MAIN)
    while waiting:
        name = waiting.pop()
        if name in seen or name in ("", MAIN) or _top(name) in sys.stdlib_module_names or _top(name) in _DEPENDENCIES:
            continue
        seen.add(name)
        waiting.append(name.rpartition(".")[0])  # a package is imported before its modules
        if version := installed_version(name):
            versions[_top(name)] = version
        elif module := _imported_module(name):
            modules[name] = module
            waiting += _imported_names(module, name)
    return OwnSource(modules, versions)


def _imported_module(name: str) -> OwnModule | None:
    """Returns a module with its text at import time, or None without a file."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and name in _imported and _imported[name][0] is spec:
        return _imported[name][1]
    module = module_on_disk(name)
    if module is not None and spec is not None:  # a module that is not imported yet may still change
        _imported[name] = spec, module
    return module


def _top(name: str) -> str:
    return name.partition(".")[0]


def _found(name: str) -> ModuleSpec | None:
    """Returns the spec of a module, without importing the module or its parent packages."""
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
    """Returns the version of a package's distribution, which usually has the same name."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(package, [])
        return importlib.metadata.version(names[0]) if names else None


@functools.lru_cache(maxsize=1024)
def _imported_names(module: OwnModule, name: str) -> tuple[str, ...]:
    """Returns all names imported by a module. For `from a import b` these are `a` and `a.b`."""
    if isinstance(module.text, bytes):
        return ()
    package, found = name if module.is_package else name.rpartition(".")[0], dict[str, None]()
    for node in ast.walk(ast.parse(module.text)):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError):  # above the top package, which Python refuses too
                origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                found |= dict.fromkeys([origin, *(f"{origin}.{alias.name}" for alias in node.names)])
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def _syntax_digest(text: str) -> str:
    """Returns a digest of the syntax tree, without comments, docstrings and layout."""
    return short_digest(json.dumps(_form(ast.parse(text))).encode())


def _form(value: Any) -> Any:
    """Converts a syntax tree node to JSON, without empty fields, which depend on the version of Python."""
    if isinstance(value, ast.Constant):
        return [type(value.value).__name__, repr(value.value)]
    if isinstance(value, ast.AST):
        fields = {name: part for name, part in ast.iter_fields(value) if name not in _LEFT_OUT}
        if isinstance(value, _WITH_DOCSTRINGS) and ast.get_docstring(value, clean=False) is not None:
            fields["body"] = fields["body"][1:]
        parts = {name: _form(part) for name, part in fields.items() if part not in (None, [])}
        return [type(value).__name__, parts]
    return [_form(item) for item in value] if isinstance(value, list) else repr(value)
