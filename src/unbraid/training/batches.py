"""Batches of images for each member of a fleet at each step."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import final

import torch
from jaxtyping import Float, Float32, Float64, Int64, UInt8
from torch import Tensor

from unbraid._internal import draws
from unbraid._internal.device import wide_device
from unbraid._internal.memory import free_memory
from unbraid.datasets.dataset import FactorImages
from unbraid.datasets.pixels import inputs
from unbraid.training.runs.spec import RunSpec


@final
class Batches:
    """Row numbers of the batches of each member, as a function of the member's seed and the step.

    Without weights, an epoch is a random permutation of all images, split into batches. An incomplete last batch is
    dropped. With weights p(n), every batch is drawn from p with replacement.
    """

    def __init__(
        self,
        seeds: Int64[Tensor, " member"],
        num_images: int,
        batch_size: int,
        weights: Float[Tensor, " image"] | None = None,
        stream: str = "batch",
    ) -> None:
        self._seeds = seeds
        self._stream = stream
        self._num_images = num_images
        self._batch_size = batch_size
        # Summed on the CPU, because a GPU adds in another order, and different rounding could change a row.
        self._cumulative = None if weights is None else weights.double().cpu().cumsum(0).to(wide_device(seeds.device))
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64, device=seeds.device)

    @property
    def steps_per_epoch(self) -> int:
        return self._num_images // self._batch_size

    def source(self, step: int) -> Int64[Tensor, "member image"] | Float64[Tensor, " image"]:
        """Returns the tensor for `taken_from`: the permutation of the epoch, or the cumulative weights.

        The memory address of the tensor never changes.
        """
        if self._cumulative is not None:
            return self._cumulative
        epoch = step // self.steps_per_epoch
        if epoch != self._epoch:
            order = draws.permutation(self._seeds, self._stream, epoch, self._num_images)
            self._epoch, self._order = epoch, self._order.copy_(order) if len(self._order) else order
        return self._order

    def taken_from(self, source: Tensor, step: Int64[Tensor, ""]) -> Int64[Tensor, "member batch"]:
        """Returns the row numbers of the batches at this step. `step` is a tensor on the device, counted from 0."""
        if self._cumulative is not None:
            return draws.by_weight(self._seeds, self._stream, step, source, self._batch_size)
        first = step.to(source.device) % self.steps_per_epoch * self._batch_size
        return source.index_select(1, first + torch.arange(self._batch_size, device=source.device))

    def rows(self, step: int) -> Int64[Tensor, "member batch"]:
        """Returns the row numbers of the batches at this step, counted from 0."""
        return self.taken_from(self.source(step), torch.full((), step, device=self._seeds.device))


# Number of batches read in advance: one is copied to the device while the next is read.
_STEPS_AHEAD = 2


@final
class Feed:
    """Loader of the batches of each member, with equal batches from memory and from the disk.

    A separate thread reads streamed pixels a few steps in advance while the fleet computes. `supply` runs on the host.
    `rows` and `images` are functions of tensors, which a CUDA graph can record.
    """

    def __init__(
        self, images: FactorImages, seeds: Int64[Tensor, " member"], batch_size: int, stream: str = "batch"
    ) -> None:
        self._images = images
        home = images.pixels.device if images.is_streamed else images.device
        weights = None if images.weights is None else images.weights.to(wide_device(home))
        self._batches = Batches(seeds.to(home), len(images), batch_size, weights, stream)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="unbraid-feed") if images.is_streamed else None
        self._coming: dict[int, Future[tuple[Tensor, Tensor]]] = {}
        self._arrived: dict[str, Tensor] = {}

    def supply(self, step: int) -> dict[str, Tensor]:
        """Returns tensors for the batches of this step, counted from 0. The memory addresses never change."""
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
        """Returns the row numbers of the batches at this step."""
        return supplied["rows"] if self._reader else self._batches.taken_from(supplied["source"], step)

    def images(
        self, supplied: Mapping[str, Tensor], rows: Int64[Tensor, "member batch"]
    ) -> Float[Tensor, "member batch channel height width"]:
        """Returns images by row number as network inputs on the device."""
        return inputs(supplied["pixels"]) if self._reader else self._images.batch(rows)

    def batch(
        self, step: int
    ) -> tuple[Int64[Tensor, "member batch"], Float[Tensor, "member batch channel height width"]]:
        """Returns the row numbers and the images of the batches at this step."""
        supplied = self.supply(step)
        rows = self.rows(supplied, torch.full((), step, device=self._images.device))
        return rows, self.images(supplied, rows)

    def _gather(
        self, step: int
    ) -> tuple[
        Int64[Tensor, "member batch"],
        UInt8[Tensor, "member batch channel height width"] | Float32[Tensor, "member batch channel height width"],
    ]:
        """Reads the row numbers and pixels of a step, in the reader thread. Other threads do not use `Batches`."""
        rows = self._batches.rows(step)
        pixels = self._images.pixels[rows]
        if self._images.device.type == "cuda" and pixels.device.type == "cpu":
            # A copy to the GPU is asynchronous only from pinned memory.
            return rows.pin_memory(), pixels.pin_memory()
        return rows, pixels


# Fraction of the free memory for images. The rest is for weights, activations and the codes of all images.
_SHARE_FOR_IMAGES = 0.5


def load_or_stream(spec: RunSpec, device: torch.device | str, *, stream: bool | None = None) -> FactorImages:
    """Opens the images of a spec: loads all images into device memory, or streams batches from disk.

    By default, images are streamed if they need more than half of the free memory. Both ways give the same batches.
    With `stream=True`, the checksum is not computed, because that would read all images.
    """
    device = torch.device(device)
    images = spec.training_data.open(verify=not stream)
    spec.check_images(images)
    if stream is None:
        stream = images.pixels.nbytes > _SHARE_FOR_IMAGES * free_memory(device)
    return images.streamed_to(device) if stream else images.to(device)
