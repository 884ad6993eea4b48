"""Subsets by row number: listed rows, a range of rows, a random split."""

import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.arrays import is_masked
from unbraid._internal.row_draws import permuted_rows
from unbraid.datasets import file_stamps
from unbraid.datasets.columns import Values
from unbraid.datasets.dataset import Factor
from unbraid.datasets.subsets.subset import Part, Subset
from unbraid.errors import DataError, SpecError

# What NumPy raises for damaged headers; from Python 3.12 on, a SyntaxError too.
_DAMAGE = (
    *(OSError, ValueError, TypeError, OverflowError, MemoryError, RecursionError),
    *(SyntaxError, tokenize.TokenError),
)


@final
@dataclass(frozen=True)
class Rows(Subset):
    """The images whose row numbers are in a file.

    `path` is an `.npy` of integers, each once. It becomes absolute when the config is made, and a missing `sha256` is
    computed from the file. A file that has changed since raises an error. `Rows.from_array(rows)` keeps an array of
    rows in the cache.
    """

    path: str
    """An .npy of row numbers."""
    sha256: str = ""
    """Checksum of what was read when the config was made; filled in."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise SpecError("Rows: path is empty; name an .npy file of row numbers, or hand them to Rows.from_array.")
        object.__setattr__(self, "path", files.absolute(self.path))
        object.__setattr__(self, "sha256", file_stamps.sha256_or_empty(self.sha256, Path(self.path), "Rows"))

    @classmethod
    def from_array(cls, rows: Any, part: Part = "train") -> "Rows":
        """Returns the config for an array of row numbers, or for a mask with an entry for each image.

        The array is kept in the cache under its checksum, so that a run can be resumed.
        """
        if is_masked(rows):
            raise DataError("Rows.from_array: some entries are masked. Drop them, or fill them.")
        try:
            given = np.asarray(rows.detach().cpu() if isinstance(rows, Tensor) else rows)
        except ValueError as error:
            raise DataError(
                f"Rows.from_array expected a list of row numbers, or a mask, and can make no array of this ({error})."
            ) from None
        numbers = np.flatnonzero(given) if given.dtype == np.bool_ and given.ndim == 1 else given
        rows = _checked(numbers, "Rows.from_array")
        return cls(*file_stamps.keep(lambda stream: np.save(stream, rows, allow_pickle=False), "rows", ".npy"), part)

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        """Checks nothing: a run can be read where the file is missing."""

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        path = Path(self.path)
        try:
            found = files.sha256(path)
            # Mapped, not read: a header that promises more numbers than the file has bytes then raises an error before
            # memory is reserved for them.
            numbers = np.lib.format.open_memmap(files.regular(path), mode="r")
        except _DAMAGE as error:
            raise DataError(
                f"{path} cannot be read as an .npy of row numbers ({error}). Write one with numpy.save."
            ) from None
        file_stamps.check_expected(path, found, self.sha256)
        rows = _checked(numbers, str(path))
        if rows[-1] >= len(values):
            raise DataError(
                f"{self.path} names row {rows[-1]}, and there are {len(values):,} images, numbered from 0. Give rows "
                "of these images."
            )
        chosen = torch.zeros(len(values), dtype=torch.bool)
        chosen[torch.from_numpy(rows)] = True
        return chosen.to(values.device)


def _checked(numbers: np.ndarray, where: str) -> Int64[np.ndarray, " row"]:
    """Returns the numbers in order, or raises an error if they are not rows."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.size == 0:
        raise DataError(
            f"{where}: {numbers.dtype} of shape {numbers.shape} was given; expected a list of row numbers, integers "
            "from 0, at least one."
        )
    rows = np.sort(numbers.astype(np.int64))
    if rows[0] < 0:
        raise DataError(f"{where}: the least row is {rows[0]}; rows are numbered from 0. Count from the front.")
    if (repeated := rows[1:][rows[1:] == rows[:-1]]).size:
        raise DataError(
            f"{where}: row {repeated[0]} is named twice. Name each once; images that count more than others have "
            "weights."
        )
    return rows


@final
@dataclass(frozen=True)
class RowRange(Subset):
    """The images from row `start` up to, but not including, row `stop`. Without a `stop`, to the end."""

    start: int = 0
    """The first row."""
    stop: int | None = None
    """The row after the last; without it to the end."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise SpecError(
                f"RowRange: the rows are {self.start} to {self.stop}; expected a start of 0 or more and a stop beyond "
                "it."
            )

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        if self.start >= num_images or (self.stop or 0) > num_images:
            raise SpecError(
                f"RowRange: the rows are {self.start} to {'the end' if self.stop is None else self.stop}, and there "
                f"are {num_images:,} images. Give a start below {num_images} and a stop of at most {num_images}."
            )

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        chosen = torch.zeros(len(values), dtype=torch.bool, device=values.device)
        chosen[self.start : self.stop] = True
        return chosen


@final
@dataclass(frozen=True)
class RandomSplit(Subset):
    """A `fraction` of the images, rounded to the nearest number, chosen by `seed`.

    A larger fraction of the same seed contains the smaller.
    """

    fraction: float = 0.9
    """The share of the images that is chosen."""
    seed: int = 0
    """Which images are chosen."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fraction < 1:
            raise SpecError(f"RandomSplit: fraction is {self.fraction}; expected a number between 0 and 1.")

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        if not 0 < self._count(num_images) < num_images:
            raise SpecError(
                f"RandomSplit: {self.fraction:g} of {num_images:,} images leaves one part without any. Choose another "
                "fraction."
            )

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        chosen = torch.zeros(len(values), dtype=torch.bool)
        chosen[permuted_rows(len(values), self.seed, "random split")[: self._count(len(values))]] = True
        return chosen.to(values.device)

    def _count(self, num_images: int) -> int:
        return round(self.fraction * num_images)
