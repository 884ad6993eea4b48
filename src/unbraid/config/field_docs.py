"""What the fields of a config mean: the text below each in the source of its class.

beta: float = 4.0
\"\"\"Weight of the rate.\"\"\"
"""

import ast
import functools
import inspect
import sys


def field_docs(cls: type) -> dict[str, str]:
    """Returns the texts below the fields of a class and of those it inherits from, by the name of the field. A class
    whose source cannot be read has none.
    """
    found: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        found |= _texts_in(each.__module__).get(each.__qualname__, {})
    return found


@functools.cache
def _texts_in(module: str) -> dict[str, dict[str, str]]:
    """Returns the texts below the fields of the classes of a module, by the name of the class."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError, KeyError, SyntaxError):
        return {}
    return {node.name: _texts_of(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _texts_of(node: ast.ClassDef) -> dict[str, str]:
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in zip(node.body, node.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) and isinstance(text.value.value, str)
    }
