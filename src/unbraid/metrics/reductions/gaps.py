"""Values per factor: the gap between the two best latents, a mask of varying factors, NaN for excluded factors."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

# Entries closer than this, in nats, tie: rounding, which differs between machines, must not choose between them.
TIE = 1e-9


@final
@dataclass(frozen=True)
class TopTwo:
    """The largest and the second largest entry of each column, and the row of the largest."""

    first: Float64[Tensor, " factor"]
    second: Float64[Tensor, " factor"]
    top: Int64[Tensor, " factor"]

    @property
    def gap(self) -> Float64[Tensor, " factor"]:
        return self.first - self.second


def top_two(table: Float64[Tensor, "latent factor"]) -> TopTwo:
    """Returns the two largest entries of each column.

    Equal entries are ordered by index. With a single latent the second entry is 0.
    """
    ranked = table.sort(dim=0, descending=True).values
    second = ranked[1] if len(table) > 1 else torch.zeros_like(ranked[0])
    index = torch.arange(len(table), device=table.device)[:, None]
    # Where a column is NaN there is no top, and it is not read.
    top = torch.where(table >= ranked[0] - TIE, index, len(table) - 1).amin(dim=0)
    return TopTwo(ranked[0], second, top)


def varies(factor_entropy: Float64[Tensor, " factor"]) -> Bool[Tensor, " factor"]:
    """Returns a mask of factors with an entropy above 0. The entropy of a factor known in no image is NaN."""
    # One label in 10^12 images has an entropy of 3e-11 nats; rounding leaves less than 1e-14 for a constant factor.
    return factor_entropy > 1e-13


def among_factors(
    table: Float64[Tensor, "*rows some"], places: Iterable[int], num_factors: int
) -> Float64[Tensor, "*rows factor"]:
    """Returns the table with a column per factor: its columns at the indices `places`, NaN elsewhere."""
    full = table.new_full((*table.shape[:-1], num_factors), torch.nan)
    full[..., list(places)] = table
    return full
