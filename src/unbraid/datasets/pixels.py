"""Pixels of images: bytes in one tensor, packed bits, channels last, or selected rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int64, UInt8, UInt64
from torch import Tensor

Raw = UInt8[Tensor, "image channel height width"] | Float32[Tensor, "image channel height width"]
"""Bytes of images or, of vectors, their numbers as they are: one channel, one row."""


_IMAGES_AT_ONCE = 4096


def inputs(raw: UInt8[Tensor, "*shape"] | Float32[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Returns what nets see: bytes as intensities in [0, 1], where byte 255 is 1; numbers of vectors as they are."""
    return raw if raw.is_floating_point() else raw.to(torch.float32) / 255


class Pixels(ABC):
    """Images that become bytes when they are asked for: a tensor of bytes, as far as code that indexes it can tell."""

    @property
    @abstractmethod
    def shape(self) -> torch.Size:
        """Returns (image, channel, height, width)."""

    @property
    @abstractmethod
    def device(self) -> torch.device: ...

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Returns what it takes to keep them, in bytes."""

    @abstractmethod
    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."]:
        """Returns the images of these rows: (*batch, channel, height, width)."""

    @abstractmethod
    def to(self, device: torch.device | str) -> "Pixels": ...

    def __len__(self) -> int:
        return self.shape[0]


@final
@dataclass(frozen=True)
class Bitmaps(Pixels):
    """Holds black-and-white images as bits, an eighth of the room, on any device. They become bytes when they are asked
    for: 255 where a bit is set, else 0.
    """

    words: UInt8[Tensor, "image row 8"]
    """A row of pixels is one 64-bit word, its low byte first; bit c is column c."""
    num_columns: int

    @classmethod
    def of(cls, bits: UInt64[np.ndarray, "image row"], num_columns: int) -> "Bitmaps":
        """Wraps words on the CPU without a copy: what is memory-mapped stays so."""
        little_endian = bits.astype("<u8", copy=False)
        return cls(torch.from_numpy(little_endian[:, :, None].view(np.uint8)), num_columns)

    @property
    def shape(self) -> torch.Size:
        num_images, num_rows, _ = self.words.shape
        return torch.Size((num_images, 1, num_rows, self.num_columns))

    @property
    def device(self) -> torch.device:
        return self.words.device

    @property
    def nbytes(self) -> int:
        return self.words.nbytes

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."]:
        words = self.words[rows]
        if words.device.type == "cpu":
            # NumPy unpacks a word at a time, and wakes no threads.
            columns = np.unpackbits(words.numpy(), axis=-1, count=self.num_columns, bitorder="little")
            columns *= 255
            return torch.from_numpy(columns)[..., None, :, :]
        return shifted_apart(words, self.num_columns)[..., None, :, :]

    def to(self, device: torch.device | str) -> "Bitmaps":
        return replace(self, words=self.words.to(device))


def shifted_apart(words: UInt8[Tensor, "*batch row 8"], num_columns: int) -> UInt8[Tensor, "*batch row {num_columns}"]:
    """Returns the bits as bytes, by torch alone: for devices that NumPy cannot reach."""
    places = torch.arange(8, dtype=torch.uint8, device=words.device)
    return ((words[..., None] >> places) & 1).flatten(-2)[..., :num_columns] * 255


def packed(images: UInt8[np.ndarray, "image row column"]) -> UInt64[np.ndarray, "image row"]:
    """Returns rows of 0 and 1 as words: bit c is column c."""
    octets = np.packbits(images, axis=-1, bitorder="little")
    words = np.zeros((*images.shape[:2], 8), dtype=np.uint8)
    words[..., : octets.shape[-1]] = octets
    return words.view("<u8")[..., 0]


@final
@dataclass(frozen=True)
class ChannelsLast(Pixels):
    """Turns images when they are asked for, so that what is memory-mapped stays so. They also lie turned in memory:
    nets compute the same.
    """

    images: UInt8[Tensor, "image height width channel"]

    @property
    def shape(self) -> torch.Size:
        num_images, height, width, channels = self.images.shape
        return torch.Size((num_images, channels, height, width))

    @property
    def device(self) -> torch.device:
        return self.images.device

    @property
    def nbytes(self) -> int:
        return self.images.nbytes

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."]:
        return self.images[rows].movedim(-1, -3).contiguous()

    def to(self, device: torch.device | str) -> "ChannelsLast":
        return ChannelsLast(self.images.to(device))


@final
@dataclass(frozen=True)
class SelectedPixels(Pixels):
    """Holds the images of these rows of others. What is memory-mapped stays so."""

    source: Raw | Pixels
    rows: Int64[Tensor, " row"]

    @property
    def shape(self) -> torch.Size:
        return torch.Size((len(self.rows), *self.source.shape[1:]))

    @property
    def device(self) -> torch.device:
        return self.source.device

    @property
    def nbytes(self) -> int:
        if isinstance(self.source, Pixels):
            return self.source.nbytes + self.rows.nbytes
        return self.shape.numel() * self.source.element_size() + self.rows.nbytes

    def __getitem__(self, rows: Int[Tensor, "*batch"] | slice) -> UInt8[Tensor, "..."] | Float32[Tensor, "..."]:
        return self.source[self.rows[rows]]

    def to(self, device: torch.device | str) -> "SelectedPixels":
        """Returns the images on another device. Only the selected ones are there, unless what they are selected from is
        packed: that moves whole.
        """
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
    first, last = int(rows[0]), int(rows[-1])
    if isinstance(pixels, Tensor) and last - first + 1 == len(rows):
        return pixels[first : last + 1]  # a view: rows that follow one another need no list
    return SelectedPixels(pixels, rows.to(pixels.device))
