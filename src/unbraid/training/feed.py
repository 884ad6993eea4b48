"""The images that a fleet sees, step by step: taken from the device's memory, or read ahead from the disk."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import final

import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor

from unbraid.data.dataset import FactorImages
from unbraid.training.batches import Batches

# One batch is on its way to the device while the next is read.
_STEPS_AHEAD = 2


@final
class Feed:
    """Each member's batches, the same whether they come from memory or from the disk.

    Pixels that are streamed are gathered where they lie, a few steps ahead, by a thread of its own while the fleet computes.
    """

    def __init__(self, images: FactorImages, seeds: Int64[Tensor, " member"], batch_size: int, stream: str = "batch") -> None:
        self._images = images
        home = images.pixels.device if images.is_streamed else images.device
        weights = None if images.weights is None else images.weights.to(home)
        self._batches = Batches(seeds.to(home), len(images), batch_size, weights, stream)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="unbraid-feed") if images.is_streamed else None
        self._coming: dict[int, Future[tuple[Int64[Tensor, "member batch"], UInt8[Tensor, ...]]]] = {}

    def rows_and_images(self, step: int) -> tuple[Int64[Tensor, "member batch"], Float[Tensor, "member batch channel height width"]]:
        """The rows of the batches at this step, counted from 0, and their images in [0, 1], on the device."""
        if self._reader is None:
            rows = self._batches.rows(step)
            return rows, self._images.batch(rows)
        for ahead in range(step, step + 1 + _STEPS_AHEAD):
            if ahead not in self._coming:
                self._coming[ahead] = self._reader.submit(self._gather, ahead)
        self._coming = {ahead: coming for ahead, coming in self._coming.items() if ahead >= step}
        rows, pixels = self._coming.pop(step).result()
        device = self._images.device
        return rows.to(device, non_blocking=True), pixels.to(device, non_blocking=True).to(torch.float32) / 255

    def _gather(self, step: int) -> tuple[Int64[Tensor, "member batch"], UInt8[Tensor, "member batch channel height width"]]:
        """Runs in the reader's thread, which alone uses the batches."""
        rows = self._batches.rows(step)
        pixels = self._images.pixels[rows]
        if self._images.device.type == "cuda" and pixels.device.type == "cpu":
            # Only from pinned memory does a copy to the GPU run beside its work.
            return rows.pin_memory(), pixels.pin_memory()
        return rows, pixels
