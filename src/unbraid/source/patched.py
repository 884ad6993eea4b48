"""Whether a module that was not imported again is what its file says all the same.

Tools that reload while one works (`%autoreload`) replace the code of functions where they are, and import nothing.
"""

import ast
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from unbraid.source.main_module import codes_of
from unbraid.source.syntax import syntax_form

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_patched(module: ModuleType, before: str, now: str) -> bool:
    """Returns whether the functions and constants that the file has now are those in memory, and all else in it is what
    it was when it was imported.
    """
    trees = ast.parse(before), ast.parse(now)
    old, new = (dict(_parts(tree)) for tree in trees)
    if old.pop("") != new.pop("") or any(old.get(name, form) != form for name, form in new.items()):
        return False
    in_file = {code.co_qualname: _plain(code) for code in _inner(compile(now, "<file>", "exec", dont_inherit=True))}
    in_memory = {code.co_qualname: _plain(code) for value in vars(module).values() for code in _codes(value, module)}
    functions_match = all(in_memory.get(name) == in_file.get(name) for name in new)
    return functions_match and all(vars(module).get(name, ...) == value for name, value in _constants(trees[1]).items())


def _parts(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """Yields, by name, how each function is called and decorated; and as "" all that is neither in a function nor the
    number or text that a name stands for.
    """
    rest: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, _FUNCTIONS):
            yield node.name, _head(node)
        elif isinstance(node, ast.ClassDef):
            methods = [each for each in node.body if isinstance(each, _FUNCTIONS)]
            yield from ((f"{node.name}.{each.name}", _head(each)) for each in methods)
            node.body = [each for each in node.body if not isinstance(each, _FUNCTIONS)]
            rest.append(node)
        elif not _constants(ast.Module([node], [])):
            rest.append(node)
    yield "", syntax_form(ast.Module(rest, []))


def _head(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
    return [syntax_form(node.args), [syntax_form(each) for each in node.decorator_list]]


def _constants(tree: ast.Module) -> dict[str, Any]:
    """Returns the numbers and texts that names at the top of a module stand for."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def _codes(value: Any, module: ModuleType) -> Iterator[CodeType]:
    if getattr(value, "__module__", None) == module.__name__:
        yield from codes_of(value)


def _inner(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner(constant)


def _plain(code: CodeType) -> tuple[Any, ...]:
    """Returns what a function does, without where it is written."""
    constants = tuple(_plain(each) if isinstance(each, CodeType) else (type(each), each) for each in code.co_consts)
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, constants, *names, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount
