"""The names that a statement looks up in the module around it."""

import ast
import symtable
from collections.abc import Iterator


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
    return own | inner | set(_in_texts(ast.parse(statement)))


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for scope in table.get_children():
        yield scope
        yield from _scopes(scope)


def _in_texts(tree: ast.Module) -> Iterator[str]:
    """Yields the names in annotations of fields that are written as texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Constant):
            try:
                annotation = ast.parse(str(node.annotation.value), mode="eval")
            except SyntaxError:
                continue
            yield from (name.id for name in ast.walk(annotation) if isinstance(name, ast.Name))
