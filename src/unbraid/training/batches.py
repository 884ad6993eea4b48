"""Which images each member sees at each step."""

from typing import final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from unbraid._internal import draws


@final
class Batches:
    """Draws each member's own batches, from its (seed, epoch) alone.

    Without weights, an epoch is a random order of all images, cut into batches; a last short one is dropped. With
    weights p(n), every batch is drawn from p with replacement.
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
        # Summed on the CPU: a GPU adds in another order, and a rounding more or less could change a row.
        self._cumulative = None if weights is None else weights.double().cpu().cumsum(0).to(seeds.device)
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64, device=seeds.device)

    @property
    def steps_per_epoch(self) -> int:
        return self._num_images // self._batch_size

    def source(self, step: int) -> Int64[Tensor, "member image"] | Float64[Tensor, " image"]:
        """Returns the source of the rows of this step: the order of this epoch, or the cumulative weights.

        It is always in the same place of memory.
        """
        if self._cumulative is not None:
            return self._cumulative
        epoch = step // self.steps_per_epoch
        if epoch != self._epoch:
            order = draws.permutation(self._seeds, self._stream, epoch, self._num_images)
            self._epoch, self._order = epoch, self._order.copy_(order) if len(self._order) else order
        return self._order

    def taken_from(self, source: Tensor, step: Int64[Tensor, ""]) -> Int64[Tensor, "member batch"]:
        """Returns the rows of the batch at this step, counted from 0. A GPU need not be told the step anew."""
        if self._cumulative is not None:
            return draws.by_weight(self._seeds, self._stream, step, source, self._batch_size)
        first = step % self.steps_per_epoch * self._batch_size
        return source.index_select(1, first + torch.arange(self._batch_size, device=source.device))

    def rows(self, step: int) -> Int64[Tensor, "member batch"]:
        """Returns the rows of the batch at this step, counted from 0."""
        return self.taken_from(self.source(step), torch.full((), step, device=self._seeds.device))
