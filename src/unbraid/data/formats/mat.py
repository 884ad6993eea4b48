"""MATLAB's MAT-files of level 5: arrays of bytes, and what lists of names and numbers are made of.

A file is a header of 128 bytes and then one element for each variable, plain or packed with zlib. An element is a tag
(its type and its length) and its content; that of a variable is again made of elements: flags, dimensions, name and
values ("MAT-File Format", The MathWorks). Nothing is unpacked further than was asked for, and nothing is read before it
is known how much it will be, so a small file cannot fill the memory.
"""

import contextlib
import io
import math
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import UInt8

from unbraid.errors import DataError

Read = Callable[[int], bytes]

_HEADER_BYTES = 128
_LEVEL_5 = 0x0100
_BYTE_ORDERS = {b"IM": "<", b"MI": ">"}
# Types of elements.
_INT8, _UINT8, _INT32, _UINT32, MATRIX, _COMPRESSED = 1, 2, 5, 6, 14, 15
# Types of variables, in the low byte of the flags, from number 6 on; the bits above it say what else they are.
_NUMBERS = ("double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_CLASSES = dict(enumerate(_NUMBERS, start=6))
_LOGICAL, _COMPLEX = 0x0200, 0x0800
# MATLAB itself stops at 63 letters. The other bounds are far above what a file of images has.
_MAX_NAME_BYTES = 256
_MAX_DIMENSIONS = 32
_MAX_VARIABLES = 256
_CHUNK = 2**16


def read(content: bytes, name: str, shape: tuple[int, ...], where: str) -> UInt8[np.ndarray, "..."]:
    """The bytes of this name and shape in the content of a file, which messages call `where`.

    The axes are those of MATLAB; the first is the fastest in the file and in memory.
    """
    with readable(where):
        variable = find(content, name, where)
        _check_head(variable.head, shape, where)
        kind, values = variable.element(math.prod(shape))
        if kind != _UINT8 or len(values) != math.prod(shape):
            raise ValueError(
                f"{name!r} has {len(values)} bytes of type {kind} where {math.prod(shape)} of type {_UINT8} were "
                "promised"
            )
        variable.rest.finish()
    return np.frombuffer(values, np.uint8).reshape(shape[::-1]).T


@contextlib.contextmanager
def readable(where: str) -> Iterator[None]:
    """Whatever turns out to be wrong inside the block is said of the file that messages call `where`."""
    try:
        yield
    except (EOFError, ValueError, struct.error, zlib.error) as error:
        raise DataError(
            f"{where} is not a readable MATLAB file ({error}). It may be cut short or damaged: fetch it again."
        ) from error


def find(content: bytes, name: str, where: str) -> "Variable":
    """The variable of this name in the content of a file; what is wrong with the file is for `readable` to say."""
    read = io.BytesIO(content).read
    order = _byte_order(read)
    others: list[str] = []
    while tag := read(8):
        if len(others) == _MAX_VARIABLES:
            raise ValueError(f"{name!r} is not among its first {_MAX_VARIABLES} variables")
        kind, length = struct.unpack(f"{order}II", tag)
        element = Part(read, length)
        if kind not in (MATRIX, _COMPRESSED):
            raise ValueError(
                f"it holds an element of type {kind}; variables are of type {MATRIX}, or {_COMPRESSED} if packed"
            )
        variable = Variable.begun(_unpacked(element, order) if kind == _COMPRESSED else element, order)
        if variable.head.name == name:
            return variable
        others.append(variable.head.name)
        element.skip()
    raise DataError(
        f"{where} has no variable {name!r}; it holds {', '.join(map(repr, others[:8])) or 'nothing'}. Fetch the "
        "official file."
    )


@final
@dataclass(frozen=True)
class Variable:
    """A variable whose head is read. `rest` are the elements behind it: the values or, in a cell array, variables."""

    head: "Head"
    rest: "Part"
    order: str

    @classmethod
    def begun(cls, part: "Part", order: str) -> "Variable":
        return cls(_head(part.read, order), part, order)

    def element(self, max_bytes: int) -> tuple[int, bytes]:
        """Type and content of the next element."""
        return _element(self.rest.read, self.order, max_bytes)

    def elements(self, max_bytes: int) -> "Iterator[tuple[int, bytes]]":
        """All of them, which together must not be longer than this."""
        if self.rest.left > max_bytes:
            raise ValueError(f"{self.head.name!r} takes {self.rest.left} bytes; at most {max_bytes} are expected there")
        while self.rest.left:
            yield self.element(max_bytes)
        self.rest.finish()

    def inside(self, content: bytes) -> "Variable":
        """The variable that an element of a cell array holds."""
        return Variable.begun(Part(io.BytesIO(content).read, len(content)), self.order)


def _byte_order(read: Read) -> str:
    header = _exactly(read, _HEADER_BYTES)
    order = _BYTE_ORDERS.get(header[126:])
    if order is None:
        raise ValueError(
            f"bytes 126 and 127 are {header[126:]!r}, where MAT-files of level 5 have {b'IM'!r} or {b'MI'!r}"
        )
    (version,) = struct.unpack(f"{order}H", header[124:126])
    if version != _LEVEL_5:
        raise ValueError(
            f"it is of version {version:#06x}, not {_LEVEL_5:#06x} (level 5); MATLAB's option -v7 saves that"
        )
    return order


def _unpacked(element: "Part", order: str) -> "Part":
    """The one variable that is packed in this element."""
    content = _Unpacked(element.read)
    kind, length = struct.unpack(f"{order}II", _exactly(content.read, 8))
    if kind != MATRIX:
        raise ValueError(f"a packed element is of type {kind}; variables are of type {MATRIX}")
    return Part(content.read, length, is_all=True)


@final
@dataclass(frozen=True)
class Head:
    """What stands before the values. The low byte of `flags` is the type of the variable."""

    name: str
    shape: tuple[int, ...]
    flags: int

    @property
    def kind(self) -> int:
        return self.flags & 0xFF

    @property
    def is_logical(self) -> bool:
        return bool(self.flags & _LOGICAL)

    @property
    def type(self) -> str:
        """In words."""
        if self.is_logical:
            return "logical"
        numbers = _CLASSES.get(self.kind, f"{self.kind}, which is not one of numbers")
        return f"complex {numbers}" if self.flags & _COMPLEX else numbers


def _head(read: Read, order: str) -> Head:
    kinds, contents = zip(
        *(_element(read, order, limit) for limit in (8, 4 * _MAX_DIMENSIONS, _MAX_NAME_BYTES)), strict=True
    )
    flags, dimensions, name = contents
    if kinds != (_UINT32, _INT32, _INT8) or len(flags) != 8 or len(dimensions) % 4:
        raise ValueError(
            f"a variable begins with elements of types {kinds} and lengths {tuple(map(len, contents))}, not with "
            "flags, dimensions and a name"
        )
    (bits,) = struct.unpack(f"{order}I", flags[:4])
    return Head(name.decode("latin-1"), struct.unpack(f"{order}{len(dimensions) // 4}i", dimensions), bits)


def _check_head(head: Head, shape: tuple[int, ...], where: str) -> None:
    if head.type != "uint8":
        raise DataError(f"{where}: {head.name!r} is of type {head.type}; expected uint8. Fetch the official file.")
    if head.shape != shape:
        raise DataError(f"{where}: {head.name!r} has shape {head.shape}; expected {shape}. Fetch the official file.")


def _element(read: Read, order: str, max_bytes: int) -> tuple[int, bytes]:
    """Type and content of the next element, which must not be longer than this."""
    tag = _exactly(read, 8)
    kind, length = struct.unpack(f"{order}II", tag)
    if kind >> 16:  # a short one: type and length share four bytes, and the content has the other four
        kind, length = kind & 0xFFFF, kind >> 16
        if length > 4:
            raise ValueError(f"a short element promises {length} bytes and has room for 4")
        return kind, tag[4 : 4 + length]
    if length > max_bytes:
        raise ValueError(f"an element of type {kind} promises {length} bytes; at most {max_bytes} are expected there")
    content = _exactly(read, length)
    _exactly(read, -length % 8)
    return kind, content


def _exactly(read: Read, size: int) -> bytes:
    content = read(size)
    if len(content) != size:
        raise EOFError(f"it ends {size - len(content)} bytes too soon")
    return content


@final
class Part:
    """The next `length` bytes of what `read` gives, and never one more. With `is_all`, nothing may follow them."""

    def __init__(self, read: Read, length: int, *, is_all: bool = False) -> None:
        self._read = read
        self.left = length
        self._is_all = is_all

    def read(self, size: int) -> bytes:
        content = self._read(min(size, self.left))
        self.left -= len(content)
        return content

    def skip(self) -> None:
        while self.left:
            _exactly(self.read, min(self.left, _CHUNK))

    def finish(self) -> None:
        """Refuse what goes on. Where a packed stream is read to its end, its checksum is compared."""
        if self.left or (self._is_all and self._read(1)):
            raise ValueError("a variable goes on after its values")


@final
class _Unpacked:
    """What `read` gives, unpacked no further than was asked for.

    Some writers leave out the end of the packed stream, so only what is asked for must be there. Where the end is
    there, so is a checksum.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        self._zlib = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        pieces, wanted = [], size
        while wanted and not self._zlib.eof:
            packed = self._zlib.unconsumed_tail or self._read(_CHUNK)
            piece = self._zlib.decompress(packed, wanted)
            if not packed and not piece:
                break
            pieces.append(piece)
            wanted -= len(piece)
        return b"".join(pieces)
