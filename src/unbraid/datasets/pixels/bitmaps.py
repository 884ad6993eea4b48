"""Black-and-white images packed into bits: one 64-bit word a row, bit c of which is column c."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
import torch
from jaxtyping import Int, UInt8, UInt64
from torch import Tensor

from unbraid.datasets.pixels.pixels import Pixels


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
