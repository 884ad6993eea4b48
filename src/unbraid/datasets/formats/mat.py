"""Reading of MATLAB MAT-files of level 5: arrays of bytes, lists of names and lists of positions.

A file has a header of 128 bytes, followed by one element for each variable, plain or compressed with zlib. An element
has a tag (type and length) and a content. The content of a variable consists of elements: flags, dimensions, name and
values ("MAT-File Format", The MathWorks). The files may be untrusted. Unlike `scipy.io.loadmat`, this module
decompresses no variable beyond its expected size.
"""

import contextlib
import itertools
import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import UInt8

from unbraid.errors import DataError

_HEADER_BYTES = 128
_LEVEL_5 = 0x0100
_BYTE_ORDERS = {b"IM": "<", b"MI": ">"}
# Types of elements.
_INT8, _UINT8, _INT32, _UINT32, _MATRIX, _PACKED = 1, 2, 5, 6, 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_LETTERS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}
# Types of variables, in the low byte of their flags.
_CELL, _TEXT, _BYTES, _NUMERIC, _LOGICAL = 1, 4, 9, range(6, 16), 0x0200
# Size limit of the elements before the values: a name has at most 63 letters, and an array fewer than 32 dimensions.
_MAX_HEAD_BYTES = 512
_MAX_LIST_BYTES = 2**22


def read_array(content: bytes, name: str, shape: tuple[int, ...], where: str) -> UInt8[np.ndarray, "..."]:
    """Reads an array of bytes by name and expected shape. Error messages contain the file name `where`.

    The axes are in MATLAB order: the first axis changes fastest, in the file and in memory.
    """
    size = math.prod(shape)
    with _readable(where):
        found = _find(content, name, size + _MAX_HEAD_BYTES)
        if found.flags != _BYTES or found.shape != shape:
            raise ValueError(f"{name!r} has type {found.flags} and shape {found.shape}; expected {_BYTES} and {shape}")
        if [(kind, len(values)) for kind, values in found.elements()] != [(_UINT8, size)]:
            raise ValueError(f"{name!r} does not have {size} bytes")
        ((_, values),) = found.elements()
    return np.frombuffer(values, np.uint8).reshape(shape[::-1]).T


def read_names(content: bytes, name: str, where: str) -> list[str]:
    """Reads a cell array of strings by name."""
    with _readable(where):
        found = _find(content, name, _MAX_LIST_BYTES)
        if found.flags & 0xFF != _CELL:
            raise ValueError(f"{name!r} is not a cell array")
        return [_text(_variable(cell, found.order)) for kind, cell in found.elements() if kind == _MATRIX]


def read_positions(content: bytes, name: str, where: str) -> list[int]:
    """Reads a vector of indices, converted to start from 0. For a vector of zeros and ones: the indices of the ones."""
    with _readable(where):
        found = _find(content, name, _MAX_LIST_BYTES)
        ((kind, content),) = found.elements() or ((0, b""),)
        if found.flags & 0xFF not in _NUMERIC or kind not in _NUMBERS:
            raise ValueError(f"{name!r} is not an array of numbers")
        values = np.frombuffer(content, np.dtype(f"{found.order}{_NUMBERS[kind]}")).astype(np.float64)
        if len(values) != math.prod(found.shape):
            raise ValueError(f"{name!r} has {len(values)} values; expected shape {found.shape}")
        if found.flags & _LOGICAL or (len(values) > 1 and np.isin(values, (0, 1)).all()):
            return np.flatnonzero(values).tolist()
        if not (np.mod(values, 1) == 0).all() or (values < 1).any() or (values > 2**31).any():
            raise ValueError(f"{name!r} is not a vector of indices")
        return (values.astype(np.int64) - 1).tolist()


@final
@dataclass(frozen=True)
class _Variable:
    """Variable with its parsed header. `rest` contains the values, or the variables in a cell array."""

    name: str
    flags: int
    shape: tuple[int, ...]
    rest: bytes
    order: str

    def elements(self) -> list[tuple[int, bytes]]:
        return [(kind, content) for kind, content, _ in _elements(self.rest, self.order)]


@contextlib.contextmanager
def _readable(where: str) -> Iterator[None]:
    """Converts errors inside the block to a DataError with the file name `where`."""
    try:
        yield
    except (ValueError, struct.error, zlib.error) as error:
        raise DataError(
            f"{where} is not a readable MATLAB file ({error}). Fetch the damaged or truncated file again."
        ) from error


def _find(content: bytes, name: str, max_bytes: int) -> _Variable:
    """Finds a variable by name. Raises a ValueError if it has more than `max_bytes` after decompression."""
    order = _BYTE_ORDERS.get(content[126:_HEADER_BYTES])
    if order is None or struct.unpack(f"{order}H", content[124:126]) != (_LEVEL_5,):
        raise ValueError(f"bytes 124 to 127 are {content[124:128]!r}; expected level 5, as saved with MATLAB's -v7")
    others = []
    for kind, element, _ in _elements(content[_HEADER_BYTES:], order):
        if kind not in (_MATRIX, _PACKED):
            raise ValueError(f"an element has type {kind}; expected {_MATRIX} or {_PACKED} for a variable")
        if kind == _MATRIX:
            variable = _variable(element, order)
        else:
            variable = _variable(_unpacked(element, order, _MAX_HEAD_BYTES, whole=False), order)
            if variable.name == name:
                variable = _variable(_unpacked(element, order, max_bytes, whole=True), order)
        if variable.name == name:
            return variable
        others.append(variable.name)
    raise ValueError(f"there is no variable {name!r}, only {', '.join(map(repr, others[:8])) or 'an empty file'}")


def _unpacked(element: bytes, order: str, max_bytes: int, *, whole: bool) -> bytes:
    """Decompresses the variable in an element: the first bytes, or all bytes with `whole`."""
    content = zlib.decompressobj().decompress(element, 8 + max_bytes + whole)
    kind, length = struct.unpack(f"{order}II", content[:8])
    if kind != _MATRIX:
        raise ValueError(f"a compressed element has type {kind}; expected {_MATRIX} for a variable")
    if whole and (length > max_bytes or len(content) - 8 != length):
        raise ValueError(f"a variable has {len(content) - 8} of {length} bytes; expected all, and at most {max_bytes}")
    return content[8:]


def _variable(content: bytes, order: str) -> _Variable:
    heads = list(itertools.islice(_elements(content, order), 3))
    kinds, lengths = [kind for kind, _, _ in heads], [len(head) for _, head, _ in heads]
    if kinds != [_UINT32, _INT32, _INT8] or lengths[0] != 8 or lengths[1] % 4:
        raise ValueError(f"a variable begins with elements of types {kinds}; expected flags, dimensions and a name")
    (_, flags, _), (_, dimensions, _), (_, name, end) = heads
    shape = struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions)
    return _Variable(
        name.decode("latin-1"), struct.unpack(f"{order}I", flags[:4])[0] & 0xFFFF, shape, content[end:], order
    )


def _elements(content: bytes, order: str) -> Iterator[tuple[int, bytes, int]]:
    """Yields the type, content and end of each element."""
    start = 0
    while start < len(content):
        kind, length = struct.unpack(f"{order}II", content[start : start + 8])
        if kind >> 16:  # a short element: four bytes of type and length, four bytes of content
            kind, length = kind & 0xFFFF, kind >> 16
            element, start = content[start + 4 : start + 4 + min(length, 4)], start + 8
        else:
            element, start = content[start + 8 : start + 8 + length], start + 8 + length
            # An element is padded to whole words, unless it is compressed.
            start += 0 if kind == _PACKED else -length % 8
        if len(element) != length:
            raise ValueError(f"an element of type {kind} has {len(element)} bytes; expected {length}")
        yield kind, element, start


def _text(cell: _Variable) -> str:
    elements = cell.elements()
    if cell.flags & 0xFF != _TEXT or len(elements) != 1 or elements[0][0] not in _LETTERS:
        raise ValueError("the cells do not contain strings")
    kind, letters = elements[0]
    encoding = _LETTERS[kind]
    return letters.decode(encoding + ({"<": "-le", ">": "-be"}[cell.order] if encoding == "utf-16" else ""))
