"""Classes that are defined in a script or in cells of a notebook, as a module that defines them and does nothing else.

A script may train when it is run, and cells are run in any order, so their whole text is not what a run can keep. The
module is put together from memory: each name that a class or a function looks up is an import, a number or text, or
another definition.
"""

import ast
import functools
import importlib.util
import inspect
import linecache
import math
import sys
import textwrap
from collections.abc import Collection, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, final

from unbraid import files
from unbraid.errors import SpecError
from unbraid.source.names_needed import names_needed
from unbraid.source.own_source import OwnModule

_MAIN = "__main__"
_FUTURE_ANNOTATIONS = 0x1000000  # a flag of compiled code: annotations are texts
_scripts: dict[str, str] = {}
"""The script as it was when its first class was defined: it may be edited while it runs."""


def remember_script() -> None:
    """Looks at the text of the script that is running, if it is one."""
    file = vars(sys.modules[_MAIN]).get("__file__")
    if file is not None and file not in _scripts:
        _scripts[file] = importlib.util.decode_source(files.read_bytes(Path(file)))


def main_module(classes: Collection[type]) -> OwnModule:
    """Returns the module that defines these classes of `__main__`, or refuses what could not be kept."""
    parts = _Parts()
    for cls in sorted(classes, key=lambda cls: cls.__qualname__):
        parts.add_class(cls)
    return OwnModule(parts.text())


@final
class _Parts:
    """Collects the statements of a module, each after those it needs."""

    def __init__(self) -> None:
        self._namespace = vars(sys.modules[_MAIN])
        self._statements: dict[str, str] = {}
        self._begun: set[str] = set()
        self._has_future_annotations = False

    def text(self) -> str:
        first = ["from __future__ import annotations"] if self._has_future_annotations else []
        return "\n\n\n".join([*first, *self._statements.values()]) + "\n"

    def add_class(self, cls: type) -> None:
        if self._namespace.get(cls.__name__) is not cls:
            raise SpecError(
                f"{cls.__name__} was defined again, and a class that inherits from it was not. Run the definitions of "
                "both again, its own first, and make the spec again."
            )
        self._add(cls.__name__, cls.__name__)

    def _add(self, name: str, needed_by: str) -> None:
        """Adds the statement that binds a name, after all that it needs."""
        if name in self._begun or name not in self._namespace:
            return
        self._begun.add(name)
        value = self._namespace[name]
        statement = _import_of(name, value) or _constant(name, value)
        if statement is None:
            statement = self._definition(name, value, needed_by)
            for other in sorted(names_needed(statement)):
                self._add(other, needed_by)
        self._statements[name] = statement

    def _definition(self, name: str, value: Any, needed_by: str) -> str:
        """Returns the statement that defines a function or a class."""
        codes = list(codes_of(value))
        self._has_future_annotations |= any(code.co_flags & _FUTURE_ANNOTATIONS for code in codes)
        candidates = [(_text_of(code.co_filename), code.co_firstlineno) for code in codes]
        if isinstance(value, type):  # it may have no function of its own
            candidates += [(text, 0) for text in _all_texts()]
        for text, line in candidates:
            if (found := _statement(text, line, name)) is not None:
                return found
        raise SpecError(
            f"{needed_by} is defined in a script or a notebook and needs {name!r} there, {_described(value)}: a run "
            f"could not keep it, and so {needed_by} could not be told from another. Make it a field, define it by a "
            f"statement of its own, or move {needed_by} and what it needs into a file, mine.py, and write: from mine "
            f"import {needed_by}"
        )


def _import_of(name: str, value: Any) -> str | None:
    """Returns the statement that imports what is not defined here."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    module, inner = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if module == _MAIN:
        return None
    if module is not None and inner is not None and _held(module, inner) is value:
        return f"from {module} import {inner} as {name}"
    for text in _all_texts():
        for node in _statements(text):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    if (alias.asname or alias.name) == name and _held(node.module, alias.name) is value:
                        return f"from {node.module} import {alias.name} as {name}"
    return None


def _held(module: str, name: str) -> Any:
    return vars(sys.modules[module]).get(name) if module in sys.modules else None


def _constant(name: str, value: Any) -> str | None:
    text = _literal(value)
    return None if text is None else f"{name} = {text}"


def _literal(value: Any) -> str | None:
    """Returns a number, a text, or a tuple, list or table of these as one writes it."""
    kind = type(value)
    if kind is float and not math.isfinite(value):
        return f"float('{value}')"
    if kind in (bool, int, float, complex, str, bytes, type(None)):
        return repr(value)
    if kind is dict:
        pairs = [(_literal(key), _literal(item)) for key, item in value.items()]
        texts = [f"{key}: {item}" for key, item in pairs if key is not None and item is not None]
        return f"{{{', '.join(texts)}}}" if len(texts) == len(pairs) else None
    if kind in (tuple, list):
        items = [text for item in value if (text := _literal(item)) is not None]
        return f"{kind.__name__}([{', '.join(items)}])" if len(items) == len(value) else None
    return None


def codes_of(value: Any) -> Iterator[CodeType]:
    """Yields the compiled code of a function, or of the functions that the body of a class defines."""
    if isinstance(value, type):
        for member in vars(value).values():
            inner = getattr(member, "fget", None) or getattr(member, "func", None) or member
            for code in () if isinstance(inner, type) else codes_of(inner):
                if code.co_qualname.startswith(f"{value.__qualname__}."):
                    yield code
        return
    function = inspect.unwrap(value.__func__ if isinstance(value, (staticmethod, classmethod)) else value)
    if isinstance(function, FunctionType):
        yield function.__code__


def _text_of(file: str) -> str:
    """Returns the text of the script, or of a cell: IPython puts cells where tracebacks look for lines."""
    script = vars(sys.modules[_MAIN]).get("__file__")
    is_script = script is not None and Path(file).name == Path(script).name
    return _all_texts()[0] if is_script else "".join(linecache.getlines(file))


def _all_texts() -> list[str]:
    """Returns the text of the script, or those of all cells, the newest first."""
    remember_script()
    file = vars(sys.modules[_MAIN]).get("__file__")
    if file is not None:
        return [_scripts[file]]
    cells = [entry[2] for entry in linecache.cache.values() if len(entry) > 1 and entry[1] is None]
    return ["".join(lines) for lines in reversed(cells)]


@functools.lru_cache(maxsize=256)
def _statements(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []


def _statement(text: str, line: int, name: str) -> str | None:
    """Returns the statement at the top of the text that binds the name and has this line; any line, if it is 0."""
    for node in reversed(_statements(text)):
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        if _binds(node, name) and (not line or first <= line <= (node.end_lineno or first)):
            lines = text.splitlines()[first - 1 : node.end_lineno]
            return textwrap.dedent("\n".join(lines))
    return None


def _binds(node: ast.stmt, name: str) -> bool:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return node.name == name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    value = getattr(node, "value", None)
    return isinstance(value, ast.Lambda) and any(isinstance(each, ast.Name) and each.id == name for each in targets)


def _described(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"
