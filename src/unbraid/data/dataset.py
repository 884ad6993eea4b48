"""The recipe of a data set, and its images on a device."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, final

import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from unbraid.data.pixels.pixels import Pixels
from unbraid.errors import DataError


@final
@dataclass(frozen=True)
class Factor:
    """One way in which the images vary.

    `size` is the number of values a discrete factor takes, and 0 for a continuous one. `ordered` is False where the
    values are mere names (shape, identity): metrics must not rank those.
    """

    name: str
    size: int
    ordered: bool = True

    def __post_init__(self) -> None:
        if not self.name.isprintable():
            raise DataError(f"The factor name {self.name!r} holds control characters. Give a name that can be printed.")


@final
@dataclass(frozen=True)
class FactorImages:
    """Images and their factors. Pixels stay bytes, or bits; a batch is made by indexing.

    `factors` holds one column for each of `factor_table`: value indices (integers), or values (floats) if any factor is
    continuous. Without columns the images are unlabelled. `weights` is p(n), where the images are not all equally
    likely. If `is_streamed`, the pixels lie elsewhere than the rest, memory-mapped on the CPU: a batch is copied from
    there to the device, and memory holds little more than that.
    """

    pixels: UInt8[Tensor, "image channel height width"] | Pixels
    factors: Int[Tensor, "image factor"] | Float[Tensor, "image factor"]
    factor_table: tuple[Factor, ...]
    weights: Float[Tensor, " image"] | None = None
    is_streamed: bool = False

    def __post_init__(self) -> None:
        if len(self.pixels) == 0:
            raise DataError("A data set needs at least one image; this one has none.")
        if self.factors.shape != (len(self.pixels), len(self.factor_table)):
            raise DataError(
                f"The factors have shape {tuple(self.factors.shape)}, but {len(self.pixels)} images with "
                f"{len(self.factor_table)} named "
                f"factors need ({len(self.pixels)}, {len(self.factor_table)}): one row an image, one column a factor."
            )
        if self.weights is not None and self.weights.shape != (len(self.pixels),):
            raise DataError(
                f"The weights have shape {tuple(self.weights.shape)}; expected one for each of the {len(self.pixels)} "
                "images."
            )

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, height, width)."""
        _, channels, height, width = self.pixels.shape
        return channels, height, width

    @property
    def device(self) -> torch.device:
        """Where batches are made: the device of the factors."""
        return self.factors.device

    def bytes_of(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "*batch channel height width"]:
        """The images of these rows, as bytes on the device. Rows that follow one another are best given as a slice: no
        list of them is made.
        """
        return self.pixels[rows if isinstance(rows, slice) else rows.to(self.pixels.device)].to(self.device)

    def batch(self, rows: Int[Tensor, "*batch"] | slice) -> Float[Tensor, "*batch channel height width"]:
        """The images of these rows with intensities in [0, 1], as float32 on the device: byte 0 is 0 and byte 255 is
        1.
        """
        return self.bytes_of(rows).to(torch.float32) / 255

    def to(self, device: torch.device | str) -> "FactorImages":
        """All of it on this device."""
        return replace(self.streamed_to(device), pixels=self.pixels.to(device), is_streamed=False)

    def streamed_to(self, device: torch.device | str) -> "FactorImages":
        """Batches on this device, made from pixels that stay where they are."""
        weights = None if self.weights is None else self.weights.to(device)
        return replace(self, factors=self.factors.to(device), weights=weights, is_streamed=True)


class FactorDataset(ABC):
    """A recipe for images: frozen, comparable, written to JSON by its fields, and cheap to construct. `open` does the
    work.
    """

    origin: ClassVar[Literal["drawn", "read"]]
    """Whether the images are made here, or come from files that someone must have put there."""
    stands_in_for: ClassVar[str] = ""
    """The name of the data set whose place this one takes, where that may not be passed on."""

    @property
    @abstractmethod
    def factors(self) -> tuple[Factor, ...]:
        """What varies, in the order of the columns. Empty for unlabelled images."""

    @property
    @abstractmethod
    def num_images(self) -> int: ...

    @property
    @abstractmethod
    def image_shape(self) -> tuple[int, int, int]:
        """(channels, height, width), known before anything is loaded, so that a model that cannot take it is refused
        early.
        """

    @abstractmethod
    def open(self, *, verify: bool = False) -> FactorImages:
        """The images on the CPU, memory-mapped where they are many; drawn or converted first, where that has not been
        done.

        `verify` takes the checksum of all that is mapped, and not only a look at its size, header and a few images.
        """

    def load(self, device: torch.device | str = "cpu") -> FactorImages:
        """All images, verified, on the device."""
        return self.open(verify=True).to(device)
