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
# Syntax tree fields that do not affect behavior. The other fields do not depend on the version of Python.
_LEFT_OUT = ("ctx", "kind", "type_comment", "type_ignores")
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

_imported: dict[str, tuple[ModuleSpec, "UserModule"]] = {}
"""Import spec and text of each module at import time. A reload of the module replaces its spec."""


@final
@dataclass(frozen=True)
class UserModule:
    """A user module: its text (or bytes if compiled), its file, and whether it is a package."""

    text: str | bytes
    is_package: bool = False
    file: str | None = None

    @cached_property
    def digest(self) -> str:
        return short_digest(self.text) if isinstance(self.text, bytes) else _syntax_digest(self.text)


@final
@dataclass(frozen=True)
class UserSource:
    """User modules by name, and the versions of the installed packages they import."""

    modules: Mapping[str, UserModule] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.modules or self.versions)

    @property
    def identity(self) -> dict[str, dict[str, str]]:
        """Digest of each module and version of each package."""
        digests = {name: module.digest for name, module in sorted(self.modules.items())}
        return {"modules": digests, "packages": dict(sorted(self.versions.items()))}


def is_user_defined(cls: type) -> bool:
    """Returns whether a class belongs neither to unbraid nor to Python, and does not replace a missing class."""
    is_stand_in = getattr(cls, "is_stand_in", False)
    return _top(cls.__module__) != "unbraid" and _top(cls.__module__) not in sys.stdlib_module_names and not is_stand_in


def remember(cls: type) -> None:
    """Caches the source of a class when the class is defined, because its file may change after the import."""
    if is_user_defined(cls):
        with contextlib.suppress(SpecError, OSError):
            if cls.__module__ == MAIN:
                remember_script()
            else:
                _closure([cls.__module__])


def source_of(classes: Iterable[type]) -> UserSource:
    """Returns the source of all user-defined classes in the given classes and their bases."""
    own = {base for cls in classes if is_user_defined(cls) for base in cls.__mro__ if is_user_defined(base)}
    in_main = [cls for cls in own if cls.__module__ == MAIN]
    main = UserModule(definitions_of(in_main)) if in_main else None
    return _closure({cls.__module__ for cls in own} - {MAIN}, main) if own else UserSource()


def check_importable(cls: type) -> None:
    """Raises an error for a user-defined class that cannot be imported from its module by its name."""
    held: Any = vars(sys.modules[cls.__module__]).get(cls.__name__) if cls.__module__ in sys.modules else None
    if not is_user_defined(cls) or held is cls:
        return
    if held is not None and "<locals>" not in cls.__qualname__:
        raise SpecError(
            f"{cls.__name__} was redefined after this config was created ({cls.__module__} was reloaded, or its cell "
            "run again). Create the config and its spec again."
        )
    raise SpecError(
        f"{cls.__module__}.{cls.__qualname__} cannot be imported by its name {cls.__name__}. Define the class at the "
        "top level of a module under this name, and turn local variables that it uses into fields."
    )


def check_current(source: UserSource) -> None:
    """Raises an error if the file of a module changed after its import, because Python still runs the old code."""
    for name, module in source.modules.items():
        if name == MAIN or module.file is None or name not in sys.modules or _imported_module(name) is not module:
            continue
        on_disk = module_on_disk(name)
        if on_disk is not None and on_disk.digest != module.digest:
            raise SpecError(
                f"{module.file} changed after the import of {name}, so Python still runs the old code. Restart Python, "
                f"or reload the module (importlib.reload({name.rpartition('.')[2]})) and create the spec again."
            )


def module_on_disk(name: str) -> UserModule | None:
    """Reads the current text of a module from its file. Returns None for a module without a file."""
    spec = _find_spec(name)
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    path, is_package = Path(spec.origin), spec.submodule_search_locations is not None
    try:
        if path.suffix in SOURCE_SUFFIXES and path.is_file():
            text: str | bytes = importlib.util.decode_source(files.read_bytes(path))
        else:  # in a .zip, or compiled
            text = getattr(spec.loader, "get_source", lambda _: None)(name) or files.read_bytes(path)
        return UserModule(text, is_package, str(path))
    except (OSError, SyntaxError, UnicodeError, ImportError) as error:
        raise SpecError(
            f"The source of the module {name} cannot be read from {path} ({error}). Restore the file."
        ) from None


def installed_version(name: str) -> str | None:
    """Returns the installed version of a module's package, without a build label: "2.1" for 2.1+cu12."""
    spec = _find_spec(name)
    places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or [])]
    if not any(part in Path(place).parts for place in places if place for part in _INSTALLED):
        return None
    version = _version(_top(name))
    return None if version is None else version.partition("+")[0]


def short_digest(content: bytes) -> str:
    """Returns the first hexadecimal digits of the SHA-256."""
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


def _closure(names: Iterable[str], main: UserModule | None = None) -> UserSource:
    """Returns these modules, `main`, and all user modules that they import directly or indirectly."""
    modules, versions = dict[str, UserModule](), dict[str, str]()
    waiting, seen = list(names), set[str]()
    if main is not None:
        modules[MAIN] = main
        waiting += _imported_names(main, MAIN)
    while waiting:
        name = waiting.pop()
        if name in seen or name in ("", MAIN) or _top(name) in sys.stdlib_module_names or _top(name) in _DEPENDENCIES:
            continue
        seen.add(name)
        waiting.append(name.rpartition(".")[0])  # Python imports a package before its modules
        if version := installed_version(name):
            versions[_top(name)] = version
        elif module := _imported_module(name):
            modules[name] = module
            waiting += _imported_names(module, name)
    return UserSource(modules, versions)


def _imported_module(name: str) -> UserModule | None:
    """Returns a module with its text at import time, or None for a module without a file."""
    spec = getattr(sys.modules.get(name), "__spec__", None)
    if spec is not None and name in _imported and _imported[name][0] is spec:
        return _imported[name][1]
    module = module_on_disk(name)
    if module is not None and spec is not None:  # a module that is not imported yet may still change
        _imported[name] = spec, module
    return module


def _top(name: str) -> str:
    return name.partition(".")[0]


def _find_spec(name: str) -> ModuleSpec | None:
    """Returns the spec of a module, without importing the module or its parent packages."""
    module: Any = sys.modules.get(name)
    if (spec := getattr(module, "__spec__", None)) is not None:
        return spec
    parent, where = name.rpartition(".")[0], None
    if parent:
        parent_spec = _find_spec(parent)
        if parent_spec is None or parent_spec.submodule_search_locations is None:
            return None
        where = list(parent_spec.submodule_search_locations)
    found = (finder.find_spec(name, where) for finder in sys.meta_path)
    return next((spec for spec in found if spec is not None), None)


@functools.cache
def _version(package: str) -> str | None:
    """Returns the version of the distribution that contains the package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        names = importlib.metadata.packages_distributions().get(package, [])
        return importlib.metadata.version(names[0]) if names else None


@functools.lru_cache(maxsize=1024)
def _imported_names(module: UserModule, name: str) -> tuple[str, ...]:
    """Returns all names imported by a module. For `from a import b` these are `a` and `a.b`."""
    if isinstance(module.text, bytes):
        return ()
    package, found = name if module.is_package else name.rpartition(".")[0], dict[str, None]()
    for node in ast.walk(ast.parse(module.text)):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError):  # beyond the top-level package, an error in Python too
                origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                found |= dict.fromkeys([origin, *(f"{origin}.{alias.name}" for alias in node.names)])
    return tuple(found)


@functools.lru_cache(maxsize=1024)
def _syntax_digest(text: str) -> str:
    """Returns a digest of the syntax tree, without comments, docstrings and layout."""
    return short_digest(json.dumps(_form(ast.parse(text))).encode())


def _form(value: Any) -> Any:
    """Converts a syntax tree node to JSON. Omits empty fields, because they depend on the version of Python."""
    if isinstance(value, ast.Constant):
        return [type(value.value).__name__, repr(value.value)]
    if isinstance(value, ast.AST):
        fields = {name: part for name, part in ast.iter_fields(value) if name not in _LEFT_OUT}
        if isinstance(value, _WITH_DOCSTRINGS) and ast.get_docstring(value, clean=False) is not None:
            fields["body"] = fields["body"][1:]
        parts = {name: _form(part) for name, part in fields.items() if part not in (None, [])}
        return [type(value).__name__, parts]
    return [_form(item) for item in value] if isinstance(value, list) else repr(value)
