"""The syntax tree of a module as a digest, and the modules that it imports."""

import ast
import functools
import hashlib
import importlib.util
import json
from typing import Any

_DIGITS = 16
# What says how a thing is written and not what it does; none of it depends on the version of Python.
_LEFT_OUT = ("ctx", "kind", "type_comment", "type_ignores")
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@functools.lru_cache(maxsize=1024)
def syntax_digest(text: str) -> str:
    """Returns hexadecimal digits that change when what a module does may change. Comments, docstrings and layout do not
    count.
    """
    return short_digest(json.dumps(syntax_form(ast.parse(text))).encode())


def short_digest(content: bytes) -> str:
    """Returns the first digits of the SHA-256."""
    return hashlib.sha256(content).hexdigest()[:_DIGITS]


@functools.lru_cache(maxsize=1024)
def imported_names(text: str, package: str) -> tuple[str, ...]:
    """Returns the names that a module of this package imports, anywhere in it: modules, and what may be one.

    Of `from a import b` these are `a` and `a.b`, which may be a function.
    """
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= dict.fromkeys(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(node, package)
            found |= dict.fromkeys([origin, *(f"{origin}.{alias.name}" for alias in node.names)] if origin else [])
    return tuple(found)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """Returns the module that is imported from; nothing if there is no such module, which Python will say."""
    try:
        return importlib.util.resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:
        return ""


def syntax_form(value: Any) -> Any:
    """Returns a part of a syntax tree as JSON, without what is empty: versions of Python differ in that."""
    if isinstance(value, ast.Constant):
        return [type(value.value).__name__, repr(value.value)]
    if isinstance(value, ast.AST):
        fields = {name: part for name, part in ast.iter_fields(value) if name not in _LEFT_OUT}
        if isinstance(value, _WITH_DOCSTRINGS) and ast.get_docstring(value, clean=False) is not None:
            fields["body"] = fields["body"][1:]
        parts = {name: syntax_form(part) for name, part in fields.items() if part not in (None, [])}
        return [type(value).__name__, parts]
    return [syntax_form(item) for item in value] if isinstance(value, list) else repr(value)
