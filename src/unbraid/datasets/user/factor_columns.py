"""Labels of a user's own images, as a store of images keeps them: numbered from 0, side by side in one table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int64

from unbraid.codes import Labels
from unbraid.codes.labels import is_missing
from unbraid.datasets.dataset import Factor, tabulated
from unbraid.errors import CodesError, DataError


def of_texts(name: str, cells: Sequence[str]) -> tuple[Labels, tuple[str, ...]]:
    """Returns the labels in a column of a text file, and the words that they number where they are names."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(cell, len(numbers)) for cell in cells], dtype=np.int64)
    try:
        labels = Labels.from_text(name, list(numbers), places)
    except CodesError as error:
        raise DataError(str(error)) from None
    words = () if labels.ordered else tuple(sorted(cell for cell in numbers if not is_missing(cell)))
    return ranked(labels), words


def ranked(labels: Labels) -> Labels:
    """Returns for each label of a discrete factor its rank among the values that occur, as in `FromArrays`: 3, 7, 7, -1
    are 1, 2, 2, 0.
    """
    return labels if labels.is_continuous else replace(labels, values=labels.assignment())


def table(
    columns: Sequence[Labels], words: Mapping[str, Sequence[str]], num_images: int
) -> tuple[Int64[np.ndarray, "image factor"] | Float[np.ndarray, "image factor"], tuple[Factor, ...]]:
    """Returns all columns side by side, and what each holds: as many values as there are words for it, or as occur.
    Beside a continuous factor the value indices of the others are floats too: one array has one type.
    """
    if unknown := [labels.name for labels in columns if not bool(labels.is_known.any())]:
        raise DataError(f"The factor {unknown[0]!r} is not known in any image. Label some, or leave it out.")
    factors = tuple(
        Factor(
            labels.name,
            0 if labels.is_continuous else len(words.get(labels.name, ())) or int(labels.values.max()) + 1,
            labels.ordered,
        )
        for labels in columns
    )
    return tabulated(columns, num_images).numpy(), factors
