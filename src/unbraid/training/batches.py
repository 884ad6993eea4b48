"""Which images each member sees at each step."""

from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from unbraid import draws


@final
class Batches:
    """Each member's own batches, from its (seed, epoch) alone.

    Without weights, an epoch is a random order of all images, cut into batches; a last short one is dropped. With weights p(n), every batch is
    drawn from p with replacement.
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
        self._order = torch.empty(0, dtype=torch.int64)

    @property
    def steps_per_epoch(self) -> int:
        return self._num_images // self._batch_size

    def rows(self, step: int) -> Int64[Tensor, "member batch"]:
        """The rows of the batch at this step, counted from 0."""
        if self._cumulative is not None:
            uniform = draws.uniform(self._seeds, self._stream, step, (self._batch_size,))
            # Scaled by the last entry, for p(n) may not sum to one. Neither end is an image of weight zero: 0 < uniform < 1.
            return torch.searchsorted(self._cumulative, uniform * self._cumulative[-1])
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self._epoch:
            self._epoch, self._order = epoch, draws.permutation(self._seeds, self._stream, epoch, self._num_images)
        return self._order[:, place * self._batch_size : (place + 1) * self._batch_size]
