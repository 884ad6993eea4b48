"""Columns of labels, as a user has them, as the factors of a data set."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64, Int64

from unbraid.data.dataset import Factor
from unbraid.errors import DataError

MISSING = frozenset({"", "nan", "NaN", "NAN"})
_MAX_SHOWN = 40  # characters of a label, in a message
# Narrower than Python, which takes 1_000 and the digits of every script.
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)", re.IGNORECASE | re.ASCII)


@final
@dataclass(frozen=True)
class FactorColumn:
    """One factor and its label of every image: value indices, or measurements if it is continuous.

    `words` are the values in the order of their indices, where they are names.
    """

    factor: Factor
    values: Int64[np.ndarray, " image"] | Float64[np.ndarray, " image"]
    words: tuple[str, ...] = ()


def of_integers(name: str, labels: np.ndarray) -> FactorColumn:
    """A discrete factor. A label becomes its rank among the values that occur, as in `FromArrays`: 3, 7, 7, -1 are 1,
    2, 2, 0.
    """
    distinct, ranks = np.unique(labels, return_inverse=True)
    return FactorColumn(Factor(name, len(distinct)), ranks.astype(np.int64))


def of_floats(name: str, labels: np.ndarray) -> FactorColumn:
    """A continuous factor."""
    measured = labels.astype(np.float64)
    if num_bad := int((~np.isfinite(measured)).sum()):
        raise DataError(f"Factor {name!r} is NaN or infinite for {num_bad} images. {_way_out(name)}")
    return FactorColumn(Factor(name, 0), measured)


def of_words(name: str, labels: Sequence[str]) -> FactorColumn:
    """A factor whose values are mere names, numbered in alphabetical order."""
    numbers = {word: number for number, word in enumerate(sorted(set(labels)))}
    values = np.array([numbers[word] for word in labels], dtype=np.int64)
    return FactorColumn(Factor(name, len(numbers), ordered=False), values, tuple(numbers))


def of_texts(name: str, cells: Sequence[str]) -> FactorColumn:
    """A column of a text file, in the narrowest form that takes all its cells: whole numbers, numbers, or names."""
    if num_missing := sum(cell in MISSING for cell in cells):
        raise DataError(f"Factor {name!r} has no label for {num_missing} images. {_way_out(name)}")
    if all(map(_WHOLE.fullmatch, cells)):
        return of_integers(name, np.array([_whole(name, cell) for cell in cells], dtype=np.int64))
    if all(map(_NUMBER.fullmatch, cells)):
        return of_floats(name, np.array(list(map(float, cells))))
    return of_words(name, cells)


def table(
    columns: Sequence[FactorColumn], num_images: int
) -> tuple[Int64[np.ndarray, "image factor"] | Float64[np.ndarray, "image factor"], tuple[Factor, ...]]:
    """All columns side by side. Beside a continuous factor the value indices of the others are floats too: one array
    has one type.
    """
    factors = tuple(column.factor for column in columns)
    if not columns:
        return np.empty((num_images, 0), dtype=np.int64), factors
    return np.stack([column.values for column in columns], axis=1), factors


def _whole(name: str, cell: str) -> int:
    # 64 bits are at most 19 digits, and Python converts no more than 4300.
    digits = cell.lstrip("+-").lstrip("0")[:20]
    number = int(digits or "0") * (-1 if cell.startswith("-") else 1)
    if not -(2**63) <= number < 2**63:
        raise DataError(
            f"Factor {name!r} has the label {cell[:_MAX_SHOWN]!r}, a whole number beyond 64 bits. Number its values "
            "from 0, or put a letter before "
            "each to make them names."
        )
    return number


def _way_out(name: str) -> str:
    return f"Label them, leave these images out, or leave {name!r} out."
