"""Where the pixels of a data set lie, if not as bytes in one tensor."""

from abc import ABC, abstractmethod

import torch
from jaxtyping import Int, UInt8
from torch import Tensor


class Pixels(ABC):
    """Images that become bytes when they are asked for: a tensor of bytes, as far as anyone who indexes it can tell."""

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
