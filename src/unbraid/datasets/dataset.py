"""Base class of dataset configs, and images with factors on a device."""

import functools
import math
import operator
import weakref
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, final

import numpy as np
import torch
from jaxtyping import Float, Int, Int64, UInt8
from torch import Tensor
from torch.utils.data import Dataset

from unbraid._internal.arrays import as_array
from unbraid._internal.device import resolve_device, wide_device
from unbraid._internal.names import suggestion
from unbraid._internal.short_repr import short_repr
from unbraid.codes import Labels
from unbraid.config import Config
from unbraid.datasets import pixels as layouts
from unbraid.datasets.pixels import Pixels, Raw, inputs
from unbraid.errors import CodesError, DataError, SpecError

Values = Int[Tensor, "image factor"] | Float[Tensor, "image factor"]
"""One column per factor: value indices (-1 if unknown), or the values of a continuous factor (NaN if unknown)."""


@final
@dataclass(frozen=True)
class Factor:
    """A factor of variation.

    `size` is the number of values of a discrete factor, and 0 for a continuous factor. `ordered` is False for a
    categorical factor (shape, identity), whose values metrics must not rank.
    """

    name: str
    size: int
    ordered: bool = True

    def __post_init__(self) -> None:
        if not self.name.isprintable():
            raise DataError(f"The factor name {self.name!r} has control characters. Use only printable characters.")


@final
@dataclass(frozen=True)
class FactorImages(Dataset[tuple[Tensor, dict[str, Any]]]):
    """Map-style torch dataset of images and their factors. A vector is an image with one row of floats.

    Args:
        pixels: Images as bytes or packed bits, or vectors as floats. Indexing gives a batch.
        factors: The labels of each factor; empty for unlabeled images.
        factor_table: The name and number of values of each factor.
        weights: The probability p(n) of each image; None for equal probabilities.
        streamed_on: The device of the batches, if the pixels stay memory-mapped on the CPU.
    """

    pixels: Raw | Pixels
    factors: tuple[Labels, ...]
    factor_table: tuple[Factor, ...]
    weights: Float[Tensor, " image"] | None = None
    streamed_on: torch.device | None = None

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if len(self.pixels) == 0:
            raise DataError("Got a dataset of 0 images; expected at least one. Add images.")
        found = [(labels.name, len(labels.values)) for labels in self.factors]
        if found != (expected := [(factor.name, len(self.pixels)) for factor in self.factor_table]):
            raise DataError(
                f"The labels (factor, number of images) are {found}; expected {expected}. Label each image."
            )
        if self.weights is not None and self.weights.shape != (len(self.pixels),):
            raise DataError(
                f"The weights have shape {tuple(self.weights.shape)}; expected {(len(self.pixels),)}: one per image."
            )

    @classmethod
    def from_table(
        cls,
        pixels: Raw | Pixels,
        values: Values,
        factors: tuple[Factor, ...],
        weights: Float[Tensor, " image"] | None = None,
    ) -> "FactorImages":
        """Creates labeled images from a table with one column of values per factor."""
        if values.shape != (len(pixels), len(factors)):
            raise DataError(
                f"The factors have shape {tuple(values.shape)}; expected {(len(pixels), len(factors))}. Use one row "
                "per image and one column per factor."
            )
        labels = tuple(labels_of(factor, column) for factor, column in zip(factors, values.unbind(1), strict=True))
        return cls(pixels, labels, factors, weights)

    @cached_property
    def values(self) -> Values:
        """Table of the factor values, with one row per image and one column per factor."""
        return tabulated(self.factors, len(self)).to(wide_device(self.device))

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, row: int | slice) -> tuple[Float[Tensor, "*batch channel height width"], dict[str, Any]]:
        """Returns an image with intensities in [0, 1] and a dict of its factors: numbers, or tensors of probabilities.

        Unknown factor values are -1 or NaN. A slice returns a batch of images, and a dict of tensors.
        """
        columns = self._columns
        if isinstance(row, slice):
            rows = torch.arange(len(self))[row]
            return self.batch(rows), {name: column[rows.to(column.device)] for name, column in columns.items()}
        number = operator.index(row)
        if not -len(self) <= number < len(self):
            raise IndexError(f"Image {number} is out of range; expected -{len(self)} to {len(self) - 1}.")
        number %= len(self)
        factors = {name: column[number] for name, column in columns.items()}
        plain = {name: value.item() if value.ndim == 0 else value for name, value in factors.items()}
        return self.batch(slice(number, number + 1))[0], plain

    @cached_property
    def _columns(self) -> dict[str, Tensor]:
        return {labels.name: _filled(labels) for labels in self.factors}

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Shape of an image: (channels, height, width)."""
        _, channels, height, width = self.pixels.shape
        return channels, height, width

    @property
    def device(self) -> torch.device:
        """Device of the batches."""
        return self.streamed_on or self.pixels.device

    @property
    def is_streamed(self) -> bool:
        return self.streamed_on is not None

    def bytes_of(
        self, rows: Int[Tensor, "*batch"] | slice
    ) -> UInt8[Tensor, "*batch channel height width"] | Float[Tensor, "*batch channel height width"]:
        """Returns images by row number as bytes on `device`, or vectors as floats. A slice is fastest."""
        return self.pixels[rows if isinstance(rows, slice) else rows.to(self.pixels.device)].to(self.device)

    def batch(self, rows: Int[Tensor, "*batch"] | slice) -> Float[Tensor, "*batch channel height width"]:
        """Returns images by row number as float32 on `device`: bytes divided by 255, or unchanged vectors."""
        return inputs(self.bytes_of(rows))

    def select(self, rows: Int64[Tensor, " row"]) -> "FactorImages":
        """Selects images by increasing row numbers, without copying pixels. Normalizes the weights to sum to one."""
        weights = None if self.weights is None else self.weights[rows].double()
        return replace(
            self,
            pixels=layouts.select(self.pixels, rows),
            factors=tuple(labels[rows] for labels in self.factors),
            weights=None if weights is None else weights / weights.sum(),
        )

    def to(self, device: torch.device | str) -> "FactorImages":
        """Moves all tensors to a device."""
        return replace(self.streamed_to(device), pixels=self.pixels.to(device), streamed_on=None)

    def streamed_to(self, device: torch.device | str) -> "FactorImages":
        """Returns the same images with batches on another device. The pixels stay on their current device."""
        place = torch.empty(0, device=device).device
        wide = wide_device(place)  # of factors and weights, which may be float64
        weights = None if self.weights is None else self.weights.to(wide)
        factors = tuple(labels.to(wide) for labels in self.factors)
        return replace(self, factors=factors, weights=weights, streamed_on=place)


def tabulated(factors: Sequence[Labels], num_images: int) -> Values:
    """Combines the labels of several factors to a table with one column per factor."""
    if soft := [labels.name for labels in factors if labels.is_soft]:
        raise DataError(
            f"The factor {soft[0]!r} has soft labels; expected values. Pass factors separately, not a table."
        )
    if not factors:
        return torch.zeros(num_images, 0, dtype=torch.int64)
    columns = [_filled(labels) for labels in factors]
    common = functools.reduce(torch.promote_types, (column.dtype for column in columns))
    return torch.stack([column.to(common) for column in columns], dim=1)


def _filled(labels: Labels) -> Tensor:
    """Returns the values of a factor, with -1 (discrete) or NaN (continuous or soft) for unknown values."""
    if labels.known is None:
        return labels.values
    known = labels.known[:, None] if labels.is_soft else labels.known
    return torch.where(known, labels.values, math.nan if labels.values.is_floating_point() else -1)


def labels_of(factor: Factor, column: Int[Tensor, " image"] | Float[Tensor, " image"]) -> Labels:
    """Converts a column of a table to labels."""
    if factor.size:
        column = column.to(torch.int64)
    missing = column < 0 if factor.size else column.isnan()
    return Labels(factor.name, column, ~missing if bool(missing.any()) else None, factor.ordered)


class FactorDataset(Config, Dataset[tuple[Tensor, dict[str, Any]]], ABC):
    """Base class of datasets: a config whose fields describe the images, and a map-style torch dataset.

    `len(data)` is the number of images, and `data[0]` the first item, as in `FactorImages`. Construction reads no
    images. The first item access opens the images, which then stay open as long as the config exists.
    """

    origin: ClassVar[Literal["drawn", "read"]]
    """Source of the images: drawn by this package, or read from files."""
    stands_in_for: ClassVar[str] = ""
    """Name of the dataset with a restrictive license that this synthetic dataset can replace, if any."""

    @property
    @abstractmethod
    def factors(self) -> tuple[Factor, ...]:
        """Factors in column order; empty for unlabeled images."""

    @property
    @abstractmethod
    def num_images(self) -> int: ...

    @property
    @abstractmethod
    def image_shape(self) -> tuple[int, int, int]:
        """Shape of an image, (channels, height, width), available without loading images."""

    @property
    def holds_vectors(self) -> bool:
        """Whether the items are vectors of numbers instead of images."""
        return False

    @abstractmethod
    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns the images on the CPU, memory-mapped if large. Draws or converts the images first if necessary.

        By default, the size, the header and a few images of a mapped file are checked. `verify` adds the SHA-256.
        """

    def __len__(self) -> int:
        return self.num_images

    def __getitem__(self, row: int | slice) -> tuple[Float[Tensor, "*batch channel height width"], dict[str, Any]]:
        if self not in _OPENED:
            _OPENED[self] = self.open()
        return _OPENED[self][row]

    def load(self, device: torch.device | str = "cpu") -> FactorImages:
        """Loads all images to a device, after verifying the checksums of their files."""
        try:
            place = torch.device(device)
        except RuntimeError:  # "auto", or an invalid device: resolve_device raises
            place = resolve_device(device)
        return self.open(verify=True).to(place)


# Not an attribute of the configs, so that the workers of a DataLoader receive configs without images.
_OPENED: weakref.WeakKeyDictionary[FactorDataset, FactorImages] = weakref.WeakKeyDictionary()


def factor_named(name: str, factors: Sequence[Factor], owner: str) -> Factor:
    """Returns a factor by name. Raises an error for an unknown name. `owner` names the config in the message."""
    names = [factor.name for factor in factors]
    if name not in names:
        known = suggestion(name, names) if names else "The dataset has no factors. Choose another dataset."
        raise SpecError(f"{owner}: there is no factor {name!r} in this dataset. {known}")
    return factors[names.index(name)]


def discrete_factor(name: str, factors: Sequence[Factor], owner: str) -> Factor:
    """Returns a discrete factor by name. Raises an error for an unknown name or a continuous factor."""
    factor = factor_named(name, factors, owner)
    if factor.size == 0:
        discrete = [factor.name for factor in factors if factor.size]
        raise SpecError(
            f"{owner}: {name} is continuous; expected a discrete factor. Bin its values, or choose one of: "
            f"{', '.join(discrete) or 'none'}."
        )
    return factor


def value_indices(values: Values, name: str, factors: Sequence[Factor], owner: str) -> Int64[Tensor, " image"]:
    """Returns the value indices of a discrete factor. Raises an error if a value is unknown (-1) or out of range."""
    factor = discrete_factor(name, factors, owner)
    column = values[:, factors.index(factor)].long()
    if num_unknown := int((column == -1).sum()):
        raise DataError(
            f"The factor {name} is unknown in {num_unknown:,} images; expected labels of all images. Label the images, "
            "or choose another factor."
        )
    least, most = int(column.min()), int(column.max())
    if least < 0 or most >= factor.size:
        raise DataError(
            f"The factor {name} has values {least} to {most}; expected 0 to {factor.size - 1}. Renumber the values."
        )
    return column


def grid_rows(factors: tuple[Factor, ...]) -> Int64[np.ndarray, "image factor"]:
    """Returns all combinations of value indices, one per row. The last factor changes fastest."""
    sizes = [factor.size for factor in factors]
    return np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T.copy()


def check_drawable(config: FactorDataset, max_images: int, **ranges: tuple[int, int]) -> None:
    """Checks the ranges of integer fields, and that the dataset has at most `max_images` images."""
    name = type(config).__name__
    for field, (least, most) in ranges.items():
        if not least <= (value := getattr(config, field)) <= most:
            raise SpecError(f"{name}: {field} is {value!r}; expected an integer from {least} to {most:,}.")
    if config.num_images > max_images:
        raise SpecError(
            f"{name} has {config.num_images:,} images; expected at most {max_images:,}. Choose fewer factor values."
        )


def plain_array(name: str, values: Any) -> np.ndarray:
    """Converts an array, tensor or nested list to an array. Raises an error for masked entries and Python objects."""
    try:
        array = as_array(name, values)
    except CodesError as error:
        raise DataError(str(error)) from None
    if isinstance(array, Tensor):
        # NumPy has no bfloat16.
        return (array.float() if array.dtype == torch.bfloat16 else array).cpu().numpy()
    return array


def check_names(names: Sequence[str], owner: str, field: str = "factors", count: int | None = None) -> None:
    """Checks that a field has at least one name, or exactly `count` names, and no duplicates."""
    if not names or (count is not None and len(names) != count):
        raise SpecError(
            f"{owner}: {field} is {', '.join(names) or 'empty'}; expected {count or 'at least one'} of the names."
        )
    if len(set(names)) < len(names):
        raise SpecError(f"{owner}: {field} is {', '.join(names)}; expected no duplicates. Remove the duplicate.")
