"""Damaged files by the hundred, and what every parser must make of them: an answer or a DataError, in bounded memory,
and no file changed.
"""

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import jaxtyping
import numpy as np

from unbraid.errors import DataError

NUM_MUTANTS = 400
_TELLING_NUMBERS = (0, 1, 2, 3, 5, 7, 9, 0x7F, 0xFF, 0x100, 0xFFFF, 2**16, 2**24, 2**28, 2**31 - 1, 2**31, 2**32 - 1)


def mutant(content: bytes, generator: np.random.Generator) -> bytes:
    """The content with one to three edits. Half of them are near the beginning, where formats keep their promises."""
    for _ in range(generator.integers(1, 4)):
        content = _EDITS[generator.integers(len(_EDITS))](bytearray(content), generator)
    return content


Maker = Callable[[Callable[[bytes], bytes]], bytes]
"""Writes a file, and passes what is to be damaged of it (all, or what is packed in it) to its argument."""


def assert_damaged_are_read_or_refused(
    parse: Callable[[Path], object], makers: Sequence[bytes | Maker], folder: Path, name: str, max_bytes: int
) -> None:
    """Damaged files are read, where the damage falls on content without a checksum, or refused, as in `num_read`."""
    generator = np.random.default_rng(0)

    def damaged(content: bytes) -> bytes:
        return mutant(content, generator)

    chosen = (makers[number % len(makers)] for number in range(NUM_MUTANTS))
    files = (damaged(maker) if isinstance(maker, bytes) else maker(damaged) for maker in chosen)
    assert 0 < num_read(parse, files, folder / "mutants", name, max_bytes) < NUM_MUTANTS


def flips(content: bytes) -> Iterator[bytes]:
    """The content with one bit flipped, in each of its bytes in turn."""
    for place in range(len(content)):
        yield content[:place] + bytes([content[place] ^ 1 << place % 8]) + content[place + 1 :]


def num_read(parse: Callable[[Path], object], files: Iterator[bytes], folder: Path, name: str, max_bytes: int) -> int:
    """How many of the files the parser reads. The others it must refuse by name, without ever holding more than
    `max_bytes` above what was there before.
    """
    folder.mkdir(parents=True)
    path = folder / name
    before, read, most, unnamed = _everything_but(path), 0, 0, []
    jaxtyping.config.update("jaxtyping_disable", True)  # users run without the checker of the tests
    tracemalloc.start()
    try:
        for content in files:
            # A new file, which is quicker to write than one that is cut short first.
            path.unlink(missing_ok=True)
            path.write_bytes(content)
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            try:
                parse(path)
                read += 1
            except DataError as error:
                unnamed += [str(error)] if name not in str(error) else []
            most = max(most, tracemalloc.get_traced_memory()[1] - held)
    finally:
        tracemalloc.stop()
        jaxtyping.config.update("jaxtyping_disable", False)
    assert not unnamed
    assert most < max_bytes
    assert _everything_but(path) == before
    return read


def _everything_but(path: Path) -> dict[Path, tuple[int, int]]:
    """All else in the folder of the test, and where the process stands."""
    paths = (*path.parent.parent.rglob("*"), *Path.cwd().iterdir())
    return {
        other: (other.stat().st_size, other.stat().st_mtime_ns) for other in paths if other.is_file() and other != path
    }


def _place(content: bytearray, generator: np.random.Generator) -> int:
    end = len(content) if generator.random() < 0.5 else min(len(content), 256)
    return int(generator.integers(max(1, end)))


def _flip_a_bit(content: bytearray, generator: np.random.Generator) -> bytes:
    if content:
        content[_place(content, generator)] ^= 1 << generator.integers(8)
    return bytes(content)


def _cut(content: bytearray, generator: np.random.Generator) -> bytes:
    return bytes(content[: _place(content, generator)])


def _drop(content: bytearray, generator: np.random.Generator) -> bytes:
    start = _place(content, generator)
    del content[start : start + int(generator.integers(1, 65))]
    return bytes(content)


def _repeat(content: bytearray, generator: np.random.Generator) -> bytes:
    start = _place(content, generator)
    length = int(generator.integers(1, 65))
    return bytes(content[: start + length] + content[start:])


def _insert(content: bytearray, generator: np.random.Generator) -> bytes:
    start = _place(content, generator)
    return bytes(content[:start]) + generator.bytes(int(generator.integers(1, 65))) + bytes(content[start:])


def _write_a_number(content: bytearray, generator: np.random.Generator) -> bytes:
    start = _place(content, generator) // 4 * 4
    number = _TELLING_NUMBERS[generator.integers(len(_TELLING_NUMBERS))]
    content[start : start + 4] = number.to_bytes(4, ("little", "big")[generator.integers(2)])
    return bytes(content)


_EDITS = (_flip_a_bit, _cut, _drop, _repeat, _insert, _write_a_number, _write_a_number)
