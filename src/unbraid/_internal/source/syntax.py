"""Digests of syntax trees, and the names that source code imports or looks up."""

import ast
import functools
import hashlib
import importlib.util
import json
import symtable
from collections.abc import Iterator
from typing import Any

_DIGITS = 16
# Layout rather than behavior. The other fields do not depend on the version of Python.
_LEFT_OUT = ("ctx", "kind", "type_comment", "type_ignores")
_WITH_DOCSTRINGS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@functools.lru_cache(maxsize=1024)
def syntax_digest(text: str) -> str:
    """Returns hexadecimal digits that change when what a module does may change. Comments, docstrings and layout do not
    count.
    """
    return short_digest(json.dumps(_form(ast.parse(text))).encode())


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
            try:
                origin = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            except ImportError:  # beyond the topmost package: Python refuses it too
                continue
            found |= dict.fromkeys([origin, *(f"{origin}.{alias.name}" for alias in node.names)])
    return tuple(found)


def names_needed(statement: str) -> set[str]:
    """Returns every name that a definition looks up outside itself: in its body, its decorators and its annotations."""
    table = symtable.symtable(statement, "<statement>", "exec")
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    inner = {
        symbol.get_name()
        for scope in _scopes(table)
        for symbol in scope.get_symbols()
        if symbol.is_global() and symbol.is_referenced()
    }
    annotations = {
        name.id
        for node in ast.walk(ast.parse(statement))
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Constant)
        for each in statements(str(node.annotation.value))
        for name in ast.walk(each)
        if isinstance(name, ast.Name)
    }
    return own | inner | annotations


@functools.lru_cache(maxsize=256)
def statements(text: str) -> list[ast.stmt]:
    """Returns the statements at the top of a text; none if it is no Python."""
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for scope in table.get_children():
        yield scope
        yield from _scopes(scope)


def _form(value: Any) -> Any:
    """Returns a part of a syntax tree as JSON, without what is empty: versions of Python differ in that."""
    if isinstance(value, ast.Constant):
        return [type(value.value).__name__, repr(value.value)]
    if isinstance(value, ast.AST):
        fields = {name: part for name, part in ast.iter_fields(value) if name not in _LEFT_OUT}
        if isinstance(value, _WITH_DOCSTRINGS) and ast.get_docstring(value, clean=False) is not None:
            fields["body"] = fields["body"][1:]
        parts = {name: _form(part) for name, part in fields.items() if part not in (None, [])}
        return [type(value).__name__, parts]
    return [_form(item) for item in value] if isinstance(value, list) else repr(value)
