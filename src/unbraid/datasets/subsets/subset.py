"""Subset, the base class of subsets of images, and subsets by row number: listed rows, a range, a random split."""

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
    """Split of the images into the described images (`part` "train") and all others ("test")."""

    if TYPE_CHECKING:

        @property
        def part(self) -> Part: ...

    @abstractmethod
    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        """Returns the mask of the described images."""

    @abstractmethod
    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        """Raises an error for a config that does not fit images with these factors."""

    def complement(self) -> "Subset":
        """Returns the same config with the other part."""
        other: dict[str, Part] = {"part": "test" if self.part == "train" else "train"}
        return replace(self, **other)

    def rows(self, factors: Sequence[Factor], values: Values) -> Int64[Tensor, " row"]:
        """Returns the rows of the chosen part, in order. Raises an error if it is empty."""
        self.check(factors, len(values))
        described = self.described(factors, values)
        rows = (described if self.part == "train" else ~described).nonzero()[:, 0]
        if len(rows) == 0:
            raise DataError(
                f"{type(self).__name__}: of the {len(values):,} images, none is in the {self.part} part. "
                f"Describe {'more' if self.part == 'train' else 'fewer'} of them, or take the other part."
            )
        return rows

    def select(self, images: FactorImages) -> FactorImages:
        """Returns the images of the chosen part, in order, without a copy of pixels."""
        rows = self.rows(images.factor_table, images.values)
        if images.weights is not None and not float(images.weights[rows].double().sum()) > 0:
            raise DataError(
                f"{type(self).__name__}: all {len(rows):,} images of the {self.part} part have weight 0. Choose others."
            )
        return images.select(rows)


def whole_share(fraction: float, count: int) -> int:
    """Returns the fraction of the count, rounded down. Corrects float errors: 0.29 * 100 gives 29, not 28."""
    return int(fraction * count + 1e-9)


def check_fraction(config: Config, name: str) -> None:
    """Raises an error if the field is neither None nor between 0 and 1."""
    value = getattr(config, name)
    if value is not None and not 0 < value < 1:
        raise SpecError(f"{type(config).__name__}: {name} is {value}; expected a number between 0 and 1.")


@final
@dataclass(frozen=True)
class Rows(Subset):
    """The images with the row numbers in a file.

    `path` is an `.npy` of distinct integers. On construction, the path becomes absolute, and a missing `sha256` is
    computed from the file. If the file has changed since, `described` raises an error.
    """

    path: str
    """Path of an .npy file of row numbers."""
    sha256: str = ""
    """SHA-256 of the file; computed on construction if empty."""
    part: Part = "train"
    """The described images ("train"), or all others ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.path:
            raise SpecError("Rows: path is empty; name an .npy file of row numbers, or hand them to Rows.from_array.")
        object.__setattr__(self, "path", files.absolute(self.path))
        object.__setattr__(self, "sha256", file_stamps.sha256_or_empty(self.sha256, Path(self.path), "Rows"))

    @classmethod
    def from_array(cls, rows: Any, part: Part = "train") -> "Rows":
        """Returns the config for row numbers, or a mask of the images, which are saved in the cache."""
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
            # Mapped, so that a header with more numbers than the file has bytes raises before memory is reserved.
            numbers = np.lib.format.open_memmap(files.regular(path), mode="r")
        except Exception as error:  # of any type: NumPy evaluates the header of the file
            raise DataError(
                f"{path} cannot be read as an .npy of row numbers ({error}). Write one with numpy.save."
            ) from error
        file_stamps.check_expected(path, found, self.sha256)
        rows = _checked(numbers, str(path))
        if rows[-1] >= len(values):
            raise DataError(
                f"{self.path} names row {rows[-1]}, and there are {len(values):,} images, numbered from 0. Remove it."
            )
        chosen = torch.zeros(len(values), dtype=torch.bool)
        chosen[torch.from_numpy(rows)] = True
        return chosen.to(values.device)


def _checked(numbers: np.ndarray, where: str) -> Int64[np.ndarray, " row"]:
    """Returns the row numbers in order. Raises an error for invalid or repeated row numbers."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.size == 0:
        raise DataError(f"{where}: {numbers.dtype} of shape {numbers.shape} was given; expected a list of row numbers.")
    rows = np.sort(numbers.astype(np.int64))
    if rows[0] < 0:
        raise DataError(f"{where}: the least row is {rows[0]}; rows are numbered from 0. Count from the front.")
    if (repeated := rows[1:][rows[1:] == rows[:-1]]).size:
        raise DataError(f"{where}: row {repeated[0]} is named twice. Name each once; weights make images count more.")
    return rows


@final
@dataclass(frozen=True)
class RowRange(Subset):
    """The images from row `start` up to, but not including, row `stop`, or to the end if `stop` is None."""

    start: int = 0
    """The first row."""
    stop: int | None = None
    """The row after the last one; None for the end."""
    part: Part = "train"
    """The described images ("train"), or all others ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise SpecError(
                f"RowRange: the rows are {self.start} to {self.stop}; expected a start of 0 or more and a later stop."
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
    """A `fraction` of the images, rounded to the nearest number, chosen at random with `seed`.

    For a fixed seed, a larger fraction contains all images of a smaller one.
    """

    fraction: float = 0.9
    """Fraction of the images in the described part."""
    seed: int = 0
    """Random seed of the choice."""
    part: Part = "train"
    """The described images ("train"), or all others ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction(self, "fraction")

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        if not 0 < self._count(num_images) < num_images:
            raise SpecError(
                f"RandomSplit: {self.fraction:g} of {num_images:,} images leaves one part without any. Choose another."
            )

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        chosen = torch.zeros(len(values), dtype=torch.bool)
        chosen[permuted_rows(len(values), self.seed, "random split")[: self._count(len(values))]] = True
        return chosen.to(values.device)

    def _count(self, num_images: int) -> int:
        return round(self.fraction * num_images)
