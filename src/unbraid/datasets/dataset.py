"""The config of a data set, and its images on a device."""

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

from unbraid._internal.device import resolve_device
from unbraid.codes import Labels
from unbraid.config import Config
from unbraid.datasets import pixels as layouts
from unbraid.datasets.pixels import Pixels, Raw, inputs
from unbraid.errors import DataError, SpecError


@final
@dataclass(frozen=True)
class Factor:
    """One way in which the images vary.

    `size` is the number of values a discrete factor takes, and 0 for a continuous one. `ordered` is False where the
    values are unordered categories (shape, identity): metrics must not rank those.
    """

    name: str
    size: int
    ordered: bool = True

    def __post_init__(self) -> None:
        if not self.name.isprintable():
            raise DataError(f"The factor name {self.name!r} holds control characters. Give a name that can be printed.")


@final
@dataclass(frozen=True)
class FactorImages(Dataset[tuple[Tensor, dict[str, Any]]]):
    """Holds images and their factors. Pixels stay bytes, or bits; a batch is made by indexing. To torch it is a data
    set that a `DataLoader` takes.

    `factors` are the labels of the images, one for each factor, and `factor_table` lists how many values each can take.
    Without factors the images are unlabeled. `weights` is p(n), where the images are not all equally likely. If there
    is a device that they are `streamed_on`, the pixels lie elsewhere than the rest, memory-mapped on the CPU: a batch
    is copied from there to the device, and memory holds little more than that. Vectors are images of one row, whose
    pixels are floats.
    """

    pixels: Raw | Pixels
    factors: tuple[Labels, ...]
    factor_table: tuple[Factor, ...]
    weights: Float[Tensor, " image"] | None = None
    streamed_on: torch.device | None = None

    def __post_init__(self) -> None:
        if len(self.pixels) == 0:
            raise DataError("A data set needs at least one image; this one has none.")
        named = [labels.name for labels in self.factors]
        if named != [factor.name for factor in self.factor_table] or any(
            len(labels.values) != len(self.pixels) for labels in self.factors
        ):
            raise DataError(
                f"The factors label {[len(labels.values) for labels in self.factors]} images as {named}, but "
                f"{len(self.pixels)} images with the factors {[factor.name for factor in self.factor_table]} need one "
                "label an image and factor."
            )
        if self.weights is not None and self.weights.shape != (len(self.pixels),):
            raise DataError(
                f"The weights have shape {tuple(self.weights.shape)}; expected one for each of the {len(self.pixels)} "
                "images."
            )

    @classmethod
    def from_table(
        cls,
        pixels: Raw | Pixels,
        values: Int[Tensor, "image factor"] | Float[Tensor, "image factor"],
        factors: tuple[Factor, ...],
        weights: Float[Tensor, " image"] | None = None,
    ) -> "FactorImages":
        """Returns images whose factors are the columns of a table: value indices, with -1 where they are not known, or
        measurements, with NaN.
        """
        if values.shape != (len(pixels), len(factors)):
            raise DataError(
                f"The factors have shape {tuple(values.shape)}, but {len(pixels)} images with {len(factors)} named "
                f"factors need ({len(pixels)}, {len(factors)}): one row an image, one column a factor."
            )
        labels = tuple(labels_of(factor, column) for factor, column in zip(factors, values.unbind(1), strict=True))
        return cls(pixels, labels, factors, weights)

    @cached_property
    def values(self) -> Int[Tensor, "image factor"] | Float[Tensor, "image factor"]:
        """Returns the factors as the columns of one table, as `from_table` takes them."""
        return tabulated(self.factors, len(self)).to(self.device)

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, row: int | slice) -> tuple[Float[Tensor, "*batch channel height width"], dict[str, Any]]:
        """Returns an image with intensities in [0, 1], and its factors by name: value indices, measurements, or tensors
        of probabilities. What is not known is -1, or NaN. A slice gives a batch of images, and tensors of factors.
        """
        columns = self._columns
        if isinstance(row, slice):
            rows = torch.arange(len(self))[row]
            return self.batch(rows), {name: column[rows.to(column.device)] for name, column in columns.items()}
        number = operator.index(row)
        if not -len(self) <= number < len(self):
            raise IndexError(f"There is no image {number}; there are {len(self)}, numbered from 0.")
        number %= len(self)
        factors = {name: column[number] for name, column in columns.items()}
        plain = {name: value.item() if value.ndim == 0 else value for name, value in factors.items()}
        return self.batch(slice(number, number + 1))[0], plain

    @cached_property
    def _columns(self) -> dict[str, Tensor]:
        return {labels.name: _filled(labels) for labels in self.factors}

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Returns (channels, height, width)."""
        _, channels, height, width = self.pixels.shape
        return channels, height, width

    @property
    def device(self) -> torch.device:
        """Returns where batches are made."""
        return self.streamed_on or self.pixels.device

    @property
    def is_streamed(self) -> bool:
        return self.streamed_on is not None

    def bytes_of(
        self, rows: Int[Tensor, "*batch"] | slice
    ) -> UInt8[Tensor, "*batch channel height width"] | Float[Tensor, "*batch channel height width"]:
        """Returns the images of these rows, as bytes on the device; vectors as floats. Rows that follow one another are
        best given as a slice: no list of them is made.
        """
        return self.pixels[rows if isinstance(rows, slice) else rows.to(self.pixels.device)].to(self.device)

    def batch(self, rows: Int[Tensor, "*batch"] | slice) -> Float[Tensor, "*batch channel height width"]:
        """Returns the images of these rows with intensities in [0, 1], as float32 on the device: byte 0 is 0 and byte
        255 is 1. The numbers of vectors are as they were given.
        """
        return inputs(self.bytes_of(rows))

    def select(self, rows: Int64[Tensor, " row"]) -> "FactorImages":
        """Returns the images of these rows, which are in order, without a copy of pixels; weights sum to one again."""
        weights = None if self.weights is None else self.weights[rows].double()
        return replace(
            self,
            pixels=layouts.select(self.pixels, rows),
            factors=tuple(labels[rows] for labels in self.factors),
            weights=None if weights is None else weights / weights.sum(),
        )

    def to(self, device: torch.device | str) -> "FactorImages":
        """Returns all of it on this device."""
        return replace(self.streamed_to(device), pixels=self.pixels.to(device), streamed_on=None)

    def streamed_to(self, device: torch.device | str) -> "FactorImages":
        """Returns images whose batches are on this device, made from pixels that stay where they are."""
        weights = None if self.weights is None else self.weights.to(device)
        factors = tuple(labels.to(device) for labels in self.factors)
        return replace(self, factors=factors, weights=weights, streamed_on=torch.empty(0, device=device).device)


def tabulated(
    factors: Sequence[Labels], num_images: int
) -> Int[Tensor, "image factor"] | Float[Tensor, "image factor"]:
    """Returns the labels as the columns of one table: -1 where a discrete one is not known, NaN where a measurement is
    not.
    """
    if soft := [labels.name for labels in factors if labels.is_soft]:
        raise DataError(f"The factor {soft[0]!r} has soft labels, which have no place in a table of values.")
    if not factors:
        return torch.zeros(num_images, 0, dtype=torch.int64)
    columns = [_filled(labels) for labels in factors]
    common = functools.reduce(torch.promote_types, (column.dtype for column in columns))
    return torch.stack([column.to(common) for column in columns], dim=1)


def _filled(labels: Labels) -> Tensor:
    """Returns the values of a factor: -1 where a discrete one is not known, NaN where any other is not."""
    if labels.known is None:
        return labels.values
    known = labels.known[:, None] if labels.is_soft else labels.known
    return torch.where(known, labels.values, math.nan if labels.values.is_floating_point() else -1)


def labels_of(factor: Factor, column: Int[Tensor, " image"] | Float[Tensor, " image"]) -> Labels:
    """Returns the labels in a column: value indices, with -1 where they are not known, or measurements, with NaN."""
    if factor.size:
        column = column.to(torch.int64)
    missing = column < 0 if factor.size else column.isnan()
    return Labels(factor.name, column, ~missing if bool(missing.any()) else None, factor.ordered)


class FactorDataset(Config, Dataset[tuple[Tensor, dict[str, Any]]], ABC):
    """A config for images: frozen, comparable, written to JSON by its fields, and cheap to construct. `open` does the
    work.

    `len(data)` is the number of images and `data[0]` the first of them, as in the images that `open` gives. They stay
    open as long as the config lives.
    """

    origin: ClassVar[Literal["drawn", "read"]]
    """Whether the images are made here, or come from files that someone must have put there."""
    stands_in_for: ClassVar[str] = ""
    """The name of the data set whose place this one takes, where that may not be passed on."""

    @property
    @abstractmethod
    def factors(self) -> tuple[Factor, ...]:
        """Returns what varies, in the order of the columns; nothing for unlabeled images."""

    @property
    @abstractmethod
    def num_images(self) -> int: ...

    @property
    @abstractmethod
    def image_shape(self) -> tuple[int, int, int]:
        """Returns (channels, height, width), known before anything is loaded, so that a model that cannot take it is
        refused early.
        """

    @property
    def holds_vectors(self) -> bool:
        """Returns whether the rows are vectors of any numbers instead of images."""
        return False

    @abstractmethod
    def open(self, *, verify: bool = False) -> FactorImages:
        """Returns the images on the CPU, memory-mapped where they are many; drawn or converted first, where that has
        not been done.

        `verify` takes the checksum of all that is mapped, and not only a look at its size, header and a few images.
        """

    def __len__(self) -> int:
        return self.num_images

    def __getitem__(self, row: int | slice) -> tuple[Float[Tensor, "*batch channel height width"], dict[str, Any]]:
        if self not in _OPENED:
            _OPENED[self] = self.open()
        return _OPENED[self][row]

    def load(self, device: torch.device | str = "cpu") -> FactorImages:
        """Returns all images, verified, on the device."""
        try:
            place = torch.device(device)
        except RuntimeError:  # "auto", or an invalid device: resolve_device raises
            place = resolve_device(device)
        return self.open(verify=True).to(place)


# Kept apart from the configs, so that a process of a DataLoader is sent the config and not the images.
_OPENED: weakref.WeakKeyDictionary[FactorDataset, FactorImages] = weakref.WeakKeyDictionary()


def grid_rows(factors: tuple[Factor, ...]) -> Int64[np.ndarray, "image factor"]:
    """Returns every combination of value indices, the last factor changing fastest."""
    sizes = [factor.size for factor in factors]
    return np.indices(sizes, dtype=np.int64).reshape(len(sizes), -1).T.copy()


def check_drawable(config: FactorDataset, max_images: int, **ranges: tuple[int, int]) -> None:
    """Raises an error for a field outside of its range, or for more images than are drawn."""
    name = type(config).__name__
    for field, (least, most) in ranges.items():
        if not least <= (value := getattr(config, field)) <= most:
            raise SpecError(f"{name}: {field} is {value!r}; give a whole number from {least} to {most:,}.")
    if config.num_images > max_images:
        raise SpecError(
            f"{name}: these are {config.num_images:,} images; at most {max_images:,} are drawn. Take fewer values of a "
            "factor."
        )
