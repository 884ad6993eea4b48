"""The source of classes that a script or the cells of a notebook define.

A script may train when it is run, and cells are run in any order, so neither is kept as a whole. What is kept is put
together from the definitions that a class uses, and from the imports, numbers and texts that these look up.
"""

import ast
import importlib.util
import inspect
import linecache
import sys
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from unbraid._internal import files
from unbraid._internal.source.modules import MAIN, OwnModule
from unbraid._internal.source.syntax import names_needed, statements
from unbraid.errors import SpecError

_FUTURE_ANNOTATIONS = 0x1000000  # a flag of compiled code: annotations are texts
_scripts: dict[str, str] = {}
"""The running script as it was when its first class was defined: it may be edited while it runs."""


def main_module(classes: Collection[type]) -> OwnModule:
    """Returns the text that defines these classes of `__main__`, each statement after those it needs. Raises a
    SpecError where a class uses what no text defines.
    """
    namespace, kept = vars(sys.modules[MAIN]), dict[str, str]()
    for cls in sorted(classes, key=lambda cls: cls.__qualname__):
        if namespace.get(cls.__name__) is not cls:
            raise SpecError(
                f"{cls.__name__} was defined again, and a class that inherits from it was not. Run the definitions of "
                "both again, its own first, and make the spec again."
            )
        _add(cls.__name__, cls.__name__, kept, set())
    are_texts = any(code.co_flags & _FUTURE_ANNOTATIONS for name in kept for code in _codes(namespace[name]))
    first = ["from __future__ import annotations"] if are_texts else []
    return OwnModule("\n\n\n".join([*first, *kept.values()]) + "\n")


def remember_script() -> str | None:
    """Returns the text of the running script as it was when this was first called; None in a notebook."""
    file = vars(sys.modules[MAIN]).get("__file__")
    if file is not None and file not in _scripts:
        _scripts[file] = importlib.util.decode_source(files.read_bytes(Path(file)))
    return None if file is None else _scripts[file]


def _add(name: str, needed_by: str, kept: dict[str, str], begun: set[str]) -> None:
    """Adds the statement that binds a name, after all that it needs."""
    namespace = vars(sys.modules[MAIN])
    if name in begun or name in kept or name not in namespace:
        return
    begun.add(name)
    value = namespace[name]
    statement = _import_of(name, value) or (f"{name} = {value!r}" if _is_plain(value) else None)
    if statement is None:
        statement = _definition(name, value, needed_by)
        for other in sorted(names_needed(statement)):
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
        f"{needed_by} is defined in a script or a notebook and needs {name!r} there, a value of type "
        f"{type(value).__name__}, which a run cannot keep. Make it a field, define it by a statement of its own, or "
        f"move {needed_by} and what it needs into a file, mine.py, and write: from mine import {needed_by}"
    )


def _import_of(name: str, value: Any) -> str | None:
    """Returns the statement that imports a value which is not defined in `__main__`."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    module, inner = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module == MAIN:
        return None
    if module in sys.modules and inner is not None and vars(sys.modules[module]).get(inner) is value:
        return f"from {module} import {inner} as {name}"
    for text in _texts():
        for node in statements(text):
            if isinstance(node, ast.ImportFrom) and node.module in sys.modules and not node.level:
                for alias in node.names:
                    is_it = vars(sys.modules[node.module]).get(alias.name) is value
                    if is_it and (alias.asname or alias.name) == name:
                        return f"from {node.module} import {alias.name} as {name}"
    return None


def _is_plain(value: Any) -> bool:
    """Returns whether this is a number, a text, or a tuple, list or dictionary of these."""
    if isinstance(value, dict):
        return all(map(_is_plain, (*value, *value.values())))
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, complex, str, bytes)


def _codes(value: Any) -> Iterator[CodeType]:
    """Yields the compiled code of a function, or of the functions that the body of a class defines."""
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
    """Returns the text of the script, or of a cell, which IPython puts where tracebacks look for lines."""
    script = vars(sys.modules[MAIN]).get("__file__")
    is_script = script is not None and Path(file).name == Path(script).name
    return _texts()[0] if is_script else "".join(linecache.getlines(file))


def _texts() -> list[str]:
    """Returns the text of the script, or those of all cells, the newest first."""
    if (script := remember_script()) is not None:
        return [script]
    cells = [entry[2] for entry in linecache.cache.values() if len(entry) > 1 and entry[1] is None]
    return ["".join(lines) for lines in reversed(cells)]


def _statement(text: str, line: int, name: str) -> str | None:
    """Returns the statement at the top of the text that binds the name and has this line; any line, if it is 0."""
    for node in reversed(statements(text)):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        if _binds(node, name) and (not line or first <= line <= (node.end_lineno or first)):
            return textwrap.dedent("\n".join(text.splitlines()[first - 1 : node.end_lineno]))
    return None


def _binds(node: ast.stmt, name: str) -> bool:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name == name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    is_lambda = isinstance(getattr(node, "value", None), ast.Lambda)
    return is_lambda and any(isinstance(each, ast.Name) and each.id == name for each in targets)
