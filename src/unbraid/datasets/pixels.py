"""Storage of pixels: bytes in one tensor, packed bits, channels-last bytes, or selected rows of other pixels."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, cast, final

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int64, UInt8, UInt64
from torch import Tensor

Raw = UInt8[Tensor, "image channel height width"] | Float32[Tensor, "image channel height width"]
"""Images as bytes, or vectors as floats with one channel and one row."""
Rows = Int[Tensor, "*batch"] | slice | int | list[int]

_IMAGES_AT_ONCE = 4096


def inputs(raw: UInt8[Tensor, "*shape"] | Float32[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Converts images to the input of a network: divides bytes by 255, and returns floats unchanged."""
    return raw if raw.is_floating_point() else raw.to(torch.float32) / 255


class Pixels(ABC):
    """Base class of compressed images, which return bytes on indexing. Subclasses are frozen dataclasses of tensors."""

    @property
    @abstractmethod
    def shape(self) -> torch.Size:
        """Shape of all images: (image, channel, height, width)."""

    @property
    def _tensors(self) -> "dict[str, Tensor | Pixels]":
        return {name: value for name, value in vars(self).items() if isinstance(value, Tensor | Pixels)}

    @property
    def device(self) -> torch.device:
        return next(iter(self._tensors.values())).device

    @property
    def nbytes(self) -> int:
        """Memory of all tensors in bytes."""
        return sum(tensor.nbytes for tensor in self._tensors.values())

    @abstractmethod
    def __getitem__(self, rows: Rows) -> UInt8[Tensor, "..."]:
        """Returns images by row number as bytes of shape (*batch, channel, height, width)."""

    def to(self, device: torch.device | str) -> "Pixels":
        moved: Any = {name: tensor.to(device) for name, tensor in self._tensors.items()}
        return replace(cast(Any, self), **moved)

    def __len__(self) -> int:
        return self.shape[0]


@final
@dataclass(frozen=True)
class Bitmaps(Pixels):
    """Black-and-white images as bits, on any device. Indexing returns bytes: 255 for a set bit."""

    words: UInt8[Tensor, "image row 8"]
    """Rows of pixels, each a little-endian 64-bit word with bit c for column c."""
    num_columns: int

    @classmethod
    def from_words(cls, bits: UInt64[np.ndarray, "image row"], num_columns: int) -> "Bitmaps":
        """Wraps an array of words without a copy, so that a memory-mapped array stays on the disk."""
        little_endian = bits.astype("<u8", copy=False)
        return cls(torch.from_numpy(little_endian[:, :, None].view(np.uint8)), num_columns)

    @property
    def shape(self) -> torch.Size:
        num_images, num_rows, _ = self.words.shape
        return torch.Size((num_images, 1, num_rows, self.num_columns))

    def __getitem__(self, rows: Rows) -> UInt8[Tensor, "..."]:
        words = self.words[rows]
        if words.device.type == "cpu":
            # NumPy unpacks a whole word at once, without starting threads.
            columns = np.unpackbits(words.numpy(), axis=-1, count=self.num_columns, bitorder="little")
            columns *= 255
            return torch.from_numpy(columns)[..., None, :, :]
        return shifted_apart(words, self.num_columns)[..., None, :, :]


def shifted_apart(words: UInt8[Tensor, "*batch row 8"], num_columns: int) -> UInt8[Tensor, "*batch row {num_columns}"]:
    """Unpacks bits to bytes with torch operations, for devices other than the CPU."""
    places = torch.arange(8, dtype=torch.uint8, device=words.device)
    return ((words[..., None] >> places) & 1).flatten(-2)[..., :num_columns] * 255


def packed(images: UInt8[np.ndarray, "image row column"]) -> UInt64[np.ndarray, "image row"]:
    """Packs rows of zeros and ones into words, with bit c for column c."""
    octets = np.packbits(images, axis=-1, bitorder="little")
    words = np.zeros((*images.shape[:2], 8), dtype=np.uint8)
    words[..., : octets.shape[-1]] = octets
    return words.view("<u8")[..., 0]


@final
@dataclass(frozen=True)
class ChannelsLast(Pixels):
    """Images with the channels on the last axis. Indexing permutes the axes, so that a mapped array stays mapped."""

    images: UInt8[Tensor, "image height width channel"]

    @property
    def shape(self) -> torch.Size:
        num_images, height, width, channels = self.images.shape
        return torch.Size((num_images, channels, height, width))

    def __getitem__(self, rows: Rows) -> UInt8[Tensor, "..."]:
        return self.images[rows].movedim(-1, -3).contiguous()


@final
@dataclass(frozen=True)
class SelectedPixels(Pixels):
    """Selected rows of other images, without a copy."""

    source: Raw | Pixels
    rows: Int64[Tensor, " row"]

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self.rows), *self.source.shape[1:]))

    @property
    def nbytes(self) -> int:
        if isinstance(self.source, Pixels):
            return self.source.nbytes + self.rows.nbytes
        return self.shape.numel() * self.source.element_size() + self.rows.nbytes

    def __getitem__(self, rows: Rows) -> UInt8[Tensor, "..."] | Float32[Tensor, "..."]:
        return self.source[self.rows[rows]]

    def to(self, device: torch.device | str) -> "SelectedPixels":
        """Moves the images to another device: only the selected rows, or the whole source if it is packed."""
        place = torch.empty(0, device=device).device
        if place == self.device:
            return self
        if isinstance(self.source, Pixels):
            return SelectedPixels(self.source.to(place), self.rows.to(place))
        moved = torch.empty(self.shape, dtype=self.source.dtype, device=place)
        for start in range(0, len(self), _IMAGES_AT_ONCE):
            block = slice(start, start + _IMAGES_AT_ONCE)
            moved[block] = self[block].to(place)
        return SelectedPixels(moved, torch.arange(len(self), device=place))


def select(
    pixels: Raw | Pixels, rows: Int64[Tensor, " row"]
) -> UInt8[Tensor, "row channel height width"] | Float32[Tensor, "row channel height width"] | Pixels:
    """Selects images by row number without copying pixels. Consecutive rows of a tensor give a view."""
    first, last = int(rows[0]), int(rows[-1])
    if isinstance(pixels, Tensor) and last - first + 1 == len(rows):
        return pixels[first : last + 1]  # a view of consecutive rows
    return SelectedPixels(pixels, rows.to(pixels.device))
