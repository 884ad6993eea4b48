"""Lists of names and of numbers in MATLAB's MAT-files of level 5. They are short, so a file is read whole.

A file is a header of 128 bytes and then an element for each variable, plain or packed with zlib. An element is a tag (its type and its length) and its content;
that of a variable is again made of elements: flags, dimensions, name, and the values or, in a cell array, variables ("MAT-File Format", The MathWorks).
"""

import contextlib
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64

from unbraid.errors import DataError

_MAX_BYTES = 2**22
_HEADER_BYTES = 128
_BYTE_ORDERS = {b"IM": "<", b"MI": ">"}
# Types of elements.
_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_LETTERS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
# Types of variables, in the low byte of the flags.
_CELL, _CHAR, _FIRST_NUMBER, _LAST_NUMBER = 1, 4, 6, 15
_LOGICAL = 0x0200


def read_names(content: bytes, variable: str, where: str) -> list[str]:
    """The strings in a cell array. `where` is what messages call the file."""
    with _readable(where):
        found = _find(content, variable, where)
        if found.kind != _CELL:
            raise ValueError(f"{variable!r} is not a cell array")
        return [found.inside(part).text() for kind, part in found.values if kind == _MATRIX]


def read_positions(content: bytes, variable: str, where: str) -> list[int]:
    """A vector of positions, counted from 1 as MATLAB does, or the places of the ones in a vector of zeros and ones; counted from 0 here."""
    with _readable(where):
        found = _find(content, variable, where)
        values = found.numbers()
        if found.is_logical or (len(values) > 1 and np.isin(values, (0, 1)).all()):
            return np.flatnonzero(values).tolist()
        if not (np.mod(values, 1) == 0).all() or (values < 1).any() or (values > 2**31).any():
            raise ValueError(f"{variable!r} is not a vector of positions")
        return (values.astype(np.int64) - 1).tolist()


@final
@dataclass(frozen=True)
class _Variable:
    name: str
    kind: int
    is_logical: bool
    shape: tuple[int, ...]
    values: tuple[tuple[int, memoryview], ...]
    order: str

    def inside(self, content: memoryview) -> "_Variable":
        return _variable(content, self.order)

    def text(self) -> str:
        if self.kind != _CHAR or len(self.values) != 1 or self.values[0][0] not in _LETTERS:
            raise ValueError("the cells do not hold text")
        kind, letters = self.values[0]
        encoding = _LETTERS[kind]
        return bytes(letters).decode(encoding + ({"<": "-le", ">": "-be"}[self.order] if encoding == "utf-16" else ""))

    def numbers(self) -> Float64[np.ndarray, " number"]:
        if not _FIRST_NUMBER <= self.kind <= _LAST_NUMBER or len(self.values) != 1 or self.values[0][0] not in _NUMBERS:
            raise ValueError(f"{self.name!r} is not an array of numbers")
        kind, values = self.values[0]
        numbers = np.frombuffer(values, np.dtype(f"{self.order}{_NUMBERS[kind]}"))
        if len(numbers) != math.prod(self.shape):
            raise ValueError(f"{self.name!r} has {len(numbers)} values; {self.shape} were promised")
        return numbers.astype(np.float64)


def _find(content: bytes, name: str, where: str) -> _Variable:
    order = _BYTE_ORDERS.get(content[126:_HEADER_BYTES])
    if order is None or len(content) > _MAX_BYTES:
        raise ValueError(f"it has {len(content)} bytes, or does not begin as MAT-files of level 5 do")
    names = []
    for kind, packed in _elements(memoryview(content)[_HEADER_BYTES:], order, align=1):
        element = _unpacked(packed, order) if kind == _COMPRESSED else packed
        found = _variable(element, order)
        if found.name == name:
            return found
        names.append(found.name)
    raise DataError(f"{where} has no variable {name!r}; it holds {', '.join(map(repr, names[:8])) or 'nothing'}. Fetch the official file.")


def _unpacked(packed: memoryview, order: str) -> memoryview:
    content = zlib.decompressobj().decompress(packed, _MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"a variable takes more than {_MAX_BYTES} bytes when unpacked")
    (kind, element), *_ = _elements(memoryview(content), order, align=1)
    if kind != _MATRIX:
        raise ValueError(f"a packed element is of type {kind}; variables are of type {_MATRIX}")
    return element


def _variable(content: memoryview, order: str) -> _Variable:
    (_, flags), (_, dimensions), (_, name), *values = _elements(content, order, align=8)
    (bits,) = struct.unpack(f"{order}I", flags[:4])
    shape = struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions)
    return _Variable(bytes(name).decode("latin-1"), bits & 0xFF, bool(bits & _LOGICAL), shape, tuple(values), order)


def _elements(content: memoryview, order: str, align: int) -> Iterator[tuple[int, memoryview]]:
    """Type and content of one element after the other."""
    place = 0
    while place < len(content):
        kind, length = struct.unpack_from(f"{order}II", content, place)
        start = place + 8
        if kind >> 16:  # a short one: type and length share four bytes, and the content has the other four
            kind, length, start = kind & 0xFFFF, kind >> 16, place + 4
            place += 8
        else:
            place = start + length + -length % align
        if start + length > len(content) or (start == place - 4 and length > 4):
            raise ValueError(f"an element of type {kind} promises {length} bytes, more than there are")
        yield kind, content[start : start + length]


@contextlib.contextmanager
def _readable(where: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, struct.error, zlib.error) as error:
        raise DataError(f"{where} is not the MATLAB file that it should be ({error}). Fetch the official file.") from error
