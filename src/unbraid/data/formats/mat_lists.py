"""Lists of names and of numbers in MATLAB's MAT-files of level 5, which `mat` describes. They are short, so a variable
is read whole.
"""

import math

import numpy as np
from jaxtyping import Float64

from unbraid.data.formats.mat import MATRIX, Variable, find, readable

_MAX_BYTES = 2**22
# Types of elements.
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_LETTERS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
# Types of variables.
_CELL, _CHAR, _FIRST_NUMBER, _LAST_NUMBER = 1, 4, 6, 15


def read_names(content: bytes, name: str, where: str) -> list[str]:
    """The strings in a cell array. `where` is what messages call the file."""
    with readable(where):
        found = find(content, name, where)
        if found.head.kind != _CELL:
            raise ValueError(f"{name!r} is not a cell array")
        return [_text(found.inside(part)) for kind, part in found.elements(_MAX_BYTES) if kind == MATRIX]


def read_positions(content: bytes, name: str, where: str) -> list[int]:
    """A vector of positions, counted from 1 as MATLAB does, or the places of the ones in a vector of zeros and ones;
    counted from 0 here.
    """
    with readable(where):
        found = find(content, name, where)
        values = _numbers(found)
        if found.head.is_logical or (len(values) > 1 and np.isin(values, (0, 1)).all()):
            return np.flatnonzero(values).tolist()
        if not (np.mod(values, 1) == 0).all() or (values < 1).any() or (values > 2**31).any():
            raise ValueError(f"{name!r} is not a vector of positions")
        return (values.astype(np.int64) - 1).tolist()


def _text(cell: Variable) -> str:
    elements = list(cell.elements(_MAX_BYTES))
    if cell.head.kind != _CHAR or len(elements) != 1 or elements[0][0] not in _LETTERS:
        raise ValueError("the cells do not hold text")
    kind, letters = elements[0]
    encoding = _LETTERS[kind]
    return letters.decode(encoding + ({"<": "-le", ">": "-be"}[cell.order] if encoding == "utf-16" else ""))


def _numbers(found: Variable) -> Float64[np.ndarray, " number"]:
    elements, head = list(found.elements(_MAX_BYTES)), found.head
    if not _FIRST_NUMBER <= head.kind <= _LAST_NUMBER or len(elements) != 1 or elements[0][0] not in _NUMBERS:
        raise ValueError(f"{head.name!r} is not an array of numbers")
    kind, values = elements[0]
    numbers = np.frombuffer(values, np.dtype(f"{found.order}{_NUMBERS[kind]}"))
    if len(numbers) != math.prod(head.shape):
        raise ValueError(f"{head.name!r} has {len(numbers)} values; {head.shape} were promised")
    return numbers.astype(np.float64)
