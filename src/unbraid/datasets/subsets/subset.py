"""Base class of subsets of images, and subsets by row number: listed rows, a range, a random split."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import torch
from jaxtyping import Bool, Int64
from torch import Tensor

from unbraid._internal import files
from unbraid._internal.row_draws import permuted_rows
from unbraid.config import Config
from unbraid.datasets import file_stamps
from unbraid.datasets.dataset import Factor, FactorImages, Values, plain_array
from unbraid.errors import DataError, SpecError

Part = Literal["train", "test"]


class Subset(Config, ABC):
    """Base class of subsets: a split into the described images (`part` "train") and all other images ("test")."""

    if TYPE_CHECKING:

        @property
        def part(self) -> Part: ...

    @abstractmethod
    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        """Returns a mask of the described images."""

    @abstractmethod
    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        """Raises an error if this subset is invalid for images with these factors."""

    def complement(self) -> "Subset":
        """Returns the same subset with the other part."""
        other: dict[str, Part] = {"part": "test" if self.part == "train" else "train"}
        return replace(self, **other)

    def rows(self, factors: Sequence[Factor], values: Values) -> Int64[Tensor, " row"]:
        """Returns the row numbers of the chosen part, in order. Raises an error for an empty part."""
        self.check(factors, len(values))
        described = self.described(factors, values)
        rows = (described if self.part == "train" else ~described).nonzero()[:, 0]
        if len(rows) == 0:
            raise DataError(
                f"{type(self).__name__}: none of the {len(values):,} images is in the {self.part} part. "
                f"Describe {'more' if self.part == 'train' else 'fewer'} images, or choose the other part."
            )
        return rows

    def select(self, images: FactorImages) -> FactorImages:
        """Returns the images of the chosen part, in order, without copying pixels."""
        rows = self.rows(images.factor_table, images.values)
        if images.weights is not None and not float(images.weights[rows].double().sum()) > 0:
            raise DataError(
                f"{type(self).__name__}: all {len(rows):,} images of the {self.part} part have weight 0; expected a "
                "positive weight. Choose other images."
            )
        return images.select(rows)


def whole_share(fraction: float, count: int) -> int:
    """Returns fraction * count, rounded down after a correction of float errors: 0.29 * 100 gives 29, not 28."""
    return int(fraction * count + 1e-9)


def check_fraction(config: Config, name: str) -> None:
    """Checks that a field is None or between 0 and 1."""
    value = getattr(config, name)
    if value is not None and not 0 < value < 1:
        raise SpecError(f"{type(config).__name__}: {name} is {value}; expected a number between 0 and 1. Use e.g. 0.8.")


@final
@dataclass(frozen=True)
class Rows(Subset):
    """Subset of images with the row numbers in a file.

    `path` is an `.npy` file of distinct integers. Construction makes the path absolute, and computes a missing `sha256`
    from the file. If the file changes later, `described` raises an error.
    """

    path: str
    """Path of an .npy file of row numbers."""
    sha256: str = ""
    """SHA-256 of the file; computed on construction if empty."""
    part: Part = "train"
    """Part of the split: the described images ("train"), or all other images ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise SpecError("Rows: path is ''; expected an .npy file of row numbers. Or pass rows to Rows.from_array.")
        object.__setattr__(self, "path", files.absolute(self.path))
        object.__setattr__(self, "sha256", file_stamps.sha256_or_empty(self.sha256, Path(self.path), "Rows"))

    @classmethod
    def from_array(cls, rows: Any, part: Part = "train") -> "Rows":
        """Creates a subset from an array of row numbers or a mask, which is saved in the cache."""
        given = plain_array("Rows.from_array: rows", rows)
        numbers = np.flatnonzero(given) if given.dtype == np.bool_ and given.ndim == 1 else given
        rows = _checked(numbers, "Rows.from_array")
        return cls(*file_stamps.keep(lambda stream: np.save(stream, rows, allow_pickle=False), "rows", ".npy"), part)

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        """Does nothing, so that a run can be read without the file."""

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        path = Path(self.path)
        try:
            found = files.sha256(path)
            # Memory-mapped, so that a header with a wrong size raises an error before memory is allocated.
            numbers = np.lib.format.open_memmap(files.regular(path), mode="r")
        except Exception as error:  # NumPy may raise many types of errors for a damaged header
            raise DataError(
                f"{path} cannot be read as an .npy of row numbers ({error}). Write the file with numpy.save."
            ) from error
        file_stamps.check_expected(path, found, self.sha256)
        rows = _checked(numbers, str(path))
        if rows[-1] >= len(values):
            raise DataError(
                f"{self.path} has the row {rows[-1]}; expected rows from 0 to {len(values) - 1}. Remove this row."
            )
        chosen = torch.zeros(len(values), dtype=torch.bool)
        chosen[torch.from_numpy(rows)] = True
        return chosen.to(values.device)


def _checked(numbers: np.ndarray, where: str) -> Int64[np.ndarray, " row"]:
    """Sorts row numbers. Raises an error for invalid or repeated row numbers."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.size == 0:
        raise DataError(f"{where}: got {numbers.dtype} of shape {numbers.shape}. Give a list of row numbers.")
    rows = np.sort(numbers.astype(np.int64))
    if rows[0] < 0:
        raise DataError(f"{where}: the smallest row is {rows[0]}; expected 0 or more. Use non-negative rows.")
    if (repeated := rows[1:][rows[1:] == rows[:-1]]).size:
        raise DataError(
            f"{where}: row {repeated[0]} occurs twice; expected distinct rows. Use weights to repeat images."
        )
    return rows


@final
@dataclass(frozen=True)
class RowRange(Subset):
    """Subset of images from row `start` to row `stop` - 1, or to the last row if `stop` is None."""

    start: int = 0
    """First row number."""
    stop: int | None = None
    """Row number after the last row, or None for the end."""
    part: Part = "train"
    """Part of the split: the described images ("train"), or all other images ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise SpecError(
                f"RowRange: start is {self.start} and stop {self.stop}; expected 0 <= start < stop. Change one of them."
            )

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        if self.start >= num_images or (self.stop or 0) > num_images:
            raise SpecError(
                f"RowRange: start is {self.start} and stop {self.stop} for {num_images:,} images. Give a start below "
                f"{num_images} and a stop of at most {num_images}."
            )

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        chosen = torch.zeros(len(values), dtype=torch.bool, device=values.device)
        chosen[self.start : self.stop] = True
        return chosen


@final
@dataclass(frozen=True)
class RandomSplit(Subset):
    """Random subset of a `fraction` of the images, rounded to the nearest number.

    For a fixed seed, the images of a smaller fraction are a subset of the images of a larger fraction.
    """

    fraction: float = 0.9
    """Fraction of the images in the described part."""
    seed: int = 0
    """Random seed of the split."""
    part: Part = "train"
    """Part of the split: the described images ("train"), or all other images ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction(self, "fraction")

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        if not 0 < self._count(num_images) < num_images:
            raise SpecError(
                f"RandomSplit: fraction {self.fraction:g} of {num_images:,} images gives an empty part. Change it."
            )

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        chosen = torch.zeros(len(values), dtype=torch.bool)
        chosen[permuted_rows(len(values), self.seed, "random split")[: self._count(len(values))]] = True
        return chosen.to(values.device)

    def _count(self, num_images: int) -> int:
        return round(self.fraction * num_images)
