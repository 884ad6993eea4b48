"""Where the pixels of a data set lie, if not as bytes in one tensor, and what nets see of them."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Float32, Int, UInt8
from torch import Tensor

Raw = UInt8[Tensor, "image channel height width"] | Float32[Tensor, "image channel height width"]
"""Bytes of images or, of vectors, their numbers as they are: one channel, one row."""


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
