"""Source of classes defined in a script or in notebook cells.

A script may start training when it is executed, and cells can run in any order. So only the definitions that a class
uses are saved, with their imports, numbers and strings.
"""

import ast
import functools
import importlib.util
import inspect
import linecache
import symtable
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from unbraid._internal import files
from unbraid.errors import SpecError

MAIN = "__main__"
_FUTURE_ANNOTATIONS = 0x1000000  # flag of compiled code: annotations are strings
_scripts: dict[str, str] = {}
"""Text of the running script when its first class was defined. The file may be edited later."""


def definitions_of(classes: Collection[type]) -> str:
    """Returns the source of these classes of `__main__`, with each statement after its dependencies.

    Raises a SpecError if a class uses a value whose definition cannot be saved.
    """
    namespace, kept = vars(sys.modules[MAIN]), dict[str, str]()
    for cls in sorted(classes, key=lambda cls: cls.__qualname__):
        if namespace.get(cls.__name__) is not cls:
            raise SpecError(
                f"{cls.__name__} was redefined after one of its subclasses was defined. Run both definitions again, "
                "the base class first, and create the spec again."
            )
        _add(cls.__name__, cls.__name__, kept, set())
    are_texts = any(code.co_flags & _FUTURE_ANNOTATIONS for name in kept for code in _codes(namespace[name]))
    first = ["from __future__ import annotations"] if are_texts else []
    return "\n\n\n".join([*first, *kept.values()]) + "\n"


def remember_script() -> str | None:
    """Returns the text of the running script as read at the first call, or None in a notebook."""
    file = vars(sys.modules[MAIN]).get("__file__")
    if file is not None and file not in _scripts:
        _scripts[file] = importlib.util.decode_source(files.read_bytes(Path(file)))
    return None if file is None else _scripts[file]


def _add(name: str, needed_by: str, kept: dict[str, str], begun: set[str]) -> None:
    """Adds the statement that binds a name, after its dependencies."""
    namespace = vars(sys.modules[MAIN])
    if name in begun or name in kept or name not in namespace:
        return
    begun.add(name)
    value = namespace[name]
    statement = _import_of(name, value) or (f"{name} = {value!r}" if _is_plain(value) else None)
    if statement is None:
        statement = _definition(name, value, needed_by)
        for other in sorted(_names_needed(statement)):
            _add(other, needed_by, kept, begun)
    kept[name] = statement


def _definition(name: str, value: Any, needed_by: str) -> str:
    """Returns the statement that defines a function or a class."""
    candidates = [(_text_of(code.co_filename), code.co_firstlineno) for code in _codes(value)]
    if isinstance(value, type):  # it may define no function
        candidates += [(text, 0) for text in _texts()]
    for text, line in candidates:
        if (found := _statement(text, line, name)) is not None:
            return found
    raise SpecError(
        f"{needed_by} (defined in a script or a notebook) uses {name!r} of type {type(value).__name__}; expected a "
        f"class, a function, a number or a string. Make {name} a field of {needed_by}, define it in one statement, or "
        f"move {needed_by} and its dependencies to a file mine.py and write: from mine import {needed_by}"
    )


def _import_of(name: str, value: Any) -> str | None:
    """Returns the import statement of a value that is not defined in `__main__`."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    module, inner = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module == MAIN:
        return None
    if module in sys.modules and inner is not None and vars(sys.modules[module]).get(inner) is value:
        return f"from {module} import {inner} as {name}"
    for node in (node for text in _texts() for node in _statements(text)):
        if isinstance(node, ast.ImportFrom) and node.module in sys.modules and not node.level:
            for alias in node.names:
                is_same = vars(sys.modules[node.module]).get(alias.name) is value
                if is_same and (alias.asname or alias.name) == name:
                    return f"from {node.module} import {alias.name} as {name}"
    return None


def _is_plain(value: Any) -> bool:
    """Returns whether the value is a number, a string, or a tuple, list or dictionary of these."""
    if isinstance(value, dict):
        return all(map(_is_plain, (*value, *value.values())))
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, complex, str, bytes)


def _codes(value: Any) -> Iterator[CodeType]:
    """Yields the compiled code of a function, or of each function in the body of a class."""
    if isinstance(value, type):
        for member in vars(value).values():
            inner = getattr(member, "fget", None) or getattr(member, "func", None) or member
            codes = () if isinstance(inner, type) else _codes(inner)
            yield from (code for code in codes if code.co_qualname.startswith(f"{value.__qualname__}."))
        return
    function = inspect.unwrap(value.__func__ if isinstance(value, (staticmethod, classmethod)) else value)
    if isinstance(function, FunctionType):
        yield function.__code__


def _text_of(file: str) -> str:
    """Returns the text of the script or of a cell. IPython adds cells to the cache of `linecache`."""
    script = vars(sys.modules[MAIN]).get("__file__")
    is_script = script is not None and Path(file).name == Path(script).name
    return _texts()[0] if is_script else "".join(linecache.getlines(file))


def _texts() -> list[str]:
    """Returns a list with the text of the script, or with the texts of all cells, newest first."""
    if (script := remember_script()) is not None:
        return [script]
    cells = [entry[2] for entry in linecache.cache.values() if len(entry) > 1 and entry[1] is None]
    return ["".join(lines) for lines in reversed(cells)]


def _statement(text: str, line: int, name: str) -> str | None:
    """Returns the top-level statement that binds the name and contains the line (0: any line), or None."""
    for node in reversed(_statements(text)):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        if _binds(node, name) and (not line or first <= line <= (node.end_lineno or first)):
            return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    return None


def _binds(node: ast.stmt, name: str) -> bool:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name == name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    is_lambda = isinstance(getattr(node, "value", None), ast.Lambda)
    return is_lambda and any(isinstance(each, ast.Name) and each.id == name for each in targets)


def _names_needed(statement: str) -> set[str]:
    """Returns the global names used in the body, decorators and annotations of a definition."""
    used = {
        symbol.get_name()
        for scope in _scopes(symtable.symtable(statement, "<statement>", "exec"))
        for symbol in scope.get_symbols()
        if symbol.is_global() and symbol.is_referenced()
    }
    annotations = {
        name.id
        for node in ast.walk(ast.parse(statement))
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Constant)
        for each in _statements(str(node.annotation.value))
        for name in ast.walk(each)
        if isinstance(name, ast.Name)
    }
    return used | annotations


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _scopes(inner)


@functools.lru_cache(maxsize=256)
def _statements(text: str) -> list[ast.stmt]:
    """Parses the top-level statements of a text. Returns an empty list for invalid Python."""
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []
