"""Labels that are written as text."""

import re
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int64

from unbraid.codes.labels import Labels
from unbraid.errors import CodesError

_MAX_SHOWN = 40  # characters of what a file holds, in a message
# The outputs of printf for NaN on different systems.
_MISSING = re.compile(r"([+-]?nan(\([^()]*\))?)?", re.IGNORECASE | re.ASCII)
# Narrower than Python, which takes 1_000, blanks and the digits of every script: labels that are written differently
# would become one.
_WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII
)


def labels_of_text(
    name: str, words: Sequence[str], places: Int64[np.ndarray, " image"], *, ordered: bool = True
) -> Labels:
    """Returns the labels of images from their places in a list of distinct words.

    If all words are whole numbers, they are value indices. If all are numbers, the factor is continuous. Otherwise it
    is categorical, and words are numbered in alphabetical order. An empty word, or nan, is a missing label. Without
    `ordered`, the factor is categorical in any case.
    """
    missing = np.array([is_missing(word) for word in words])
    known = None if not missing.any() else torch.from_numpy(~missing[places])
    given = [word for word, gone in zip(words, missing, strict=True) if not gone]
    padded = next((word for word in given if word != word.strip() and NUMBER.fullmatch(word.strip())), None)
    if padded is not None:
        raise CodesError(
            f"Factor {name!r} has the label {quoted(padded)}, a number with blanks around it. Remove the blanks."
        )
    for form, kind in ((_WHOLE, np.int64), (NUMBER, np.float64)) if ordered else ((_WHOLE, np.int64),):
        if all(map(form.fullmatch, given)):
            values = np.zeros(len(words), dtype=kind)
            values[~missing] = _whole(name, given) if kind is np.int64 else list(map(float, given))
            return Labels(name, torch.from_numpy(values[places]), known, ordered)
    # In alphabetical order, whatever the order of the rows.
    numbers = np.unique(np.array(words, dtype=object), return_inverse=True)[1]
    return Labels(name, torch.from_numpy(numbers[places]), known, ordered=False)


def is_missing(word: str) -> bool:
    return _MISSING.fullmatch(word.strip()) is not None


def quoted(text: str) -> str:
    """Returns text of a file for a message, shortened."""
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")


def _whole(name: str, words: list[str]) -> list[int]:
    numbers = []
    for word in words:
        # 64 bits are at most 19 digits, and Python converts no more than 4300.
        digits = word.lstrip("+-").lstrip("0")[:20]
        numbers.append(int(digits or "0") * (-1 if word.startswith("-") else 1))
        if not -(2**63) <= numbers[-1] < 2**63:
            raise CodesError(
                f"Factor {name!r} has the label {quoted(word)}, a whole number beyond 64 bits. Number its values from "
                "0, or put a letter before each to make them names."
            )
    return numbers
