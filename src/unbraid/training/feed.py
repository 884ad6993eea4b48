"""The batches of a fleet: from the device's memory, or read ahead from the disk."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import final

import torch
from jaxtyping import Float, Float32, Int64, UInt8
from torch import Tensor

from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pixels.pixels import inputs
from unbraid.training.batches import Batches

# One batch is on its way to the device while the next is read.
_STEPS_AHEAD = 2


@final
class Feed:
    """Supplies each member's batches, the same whether they come from memory or from the disk.

    Pixels that are streamed are gathered where they lie, a few steps ahead, by a separate thread while the fleet
    computes. `supply` does what no GPU can do by itself, `rows` and `images` the rest, from tensors alone.
    """

    def __init__(
        self, images: FactorImages, seeds: Int64[Tensor, " member"], batch_size: int, stream: str = "batch"
    ) -> None:
        self._images = images
        home = images.pixels.device if images.is_streamed else images.device
        weights = None if images.weights is None else images.weights.to(home)
        self._batches = Batches(seeds.to(home), len(images), batch_size, weights, stream)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="unbraid-feed") if images.is_streamed else None
        self._coming: dict[int, Future[tuple[Tensor, Tensor]]] = {}
        self._arrived: dict[str, Tensor] = {}

    def supply(self, step: int) -> dict[str, Tensor]:
        """Returns the tensors that the batches of this step, counted from 0, are made of.

        They are at the same place of the device's memory at every step.
        """
        if self._reader is None:
            return {"source": self._batches.source(step)}
        for ahead in range(step, step + 1 + _STEPS_AHEAD):
            if ahead not in self._coming:
                self._coming[ahead] = self._reader.submit(self._gather, ahead)
        self._coming = {ahead: coming for ahead, coming in self._coming.items() if ahead >= step}
        for name, tensor in zip(("rows", "pixels"), self._coming.pop(step).result(), strict=True):
            place = self._arrived.setdefault(name, torch.empty_like(tensor, device=self._images.device))
            place.copy_(tensor, non_blocking=True)
        return self._arrived

    def rows(self, supplied: Mapping[str, Tensor], step: Int64[Tensor, ""]) -> Int64[Tensor, "member batch"]:
        """Returns the rows of the batches at this step."""
        return supplied["rows"] if self._reader else self._batches.taken_from(supplied["source"], step)

    def images(
        self, supplied: Mapping[str, Tensor], rows: Int64[Tensor, "member batch"]
    ) -> Float[Tensor, "member batch channel height width"]:
        """Returns the images of these rows as nets see them, on the device."""
        return inputs(supplied["pixels"]) if self._reader else self._images.batch(rows)

    def batch(
        self, step: int
    ) -> tuple[Int64[Tensor, "member batch"], Float[Tensor, "member batch channel height width"]]:
        """Returns the rows and their images in one."""
        supplied = self.supply(step)
        rows = self.rows(supplied, torch.full((), step, device=self._images.device))
        return rows, self.images(supplied, rows)

    def _gather(
        self, step: int
    ) -> tuple[
        Int64[Tensor, "member batch"],
        UInt8[Tensor, "member batch channel height width"] | Float32[Tensor, "member batch channel height width"],
    ]:
        """Runs in the reader's thread, which alone uses the batches."""
        rows = self._batches.rows(step)
        pixels = self._images.pixels[rows]
        if self._images.device.type == "cuda" and pixels.device.type == "cpu":
            # Only from pinned memory does a copy to the GPU run beside its work.
            return rows.pin_memory(), pixels.pin_memory()
        return rows, pixels
