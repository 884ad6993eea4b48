"""Gap between the two best latents of each factor, and masks of factors."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

# Entries that differ by less, in nats, are ties, because rounding errors differ between machines.
TIE = 1e-9


@final
@dataclass(frozen=True)
class TopTwo:
    """The largest and the second largest entry of each column, and the row of the largest entry."""

    first: Float64[Tensor, " factor"]
    second: Float64[Tensor, " factor"]
    top: Int64[Tensor, " factor"]

    @property
    def gap(self) -> Float64[Tensor, " factor"]:
        return self.first - self.second


def top_two(table: Float64[Tensor, "latent factor"]) -> TopTwo:
    """Returns the two largest entries of each column.

    Ties are ordered by index. With a single latent the second entry is 0.
    """
    ranked = table.sort(dim=0, descending=True).values
    second = ranked[1] if len(table) > 1 else torch.zeros_like(ranked[0])
    index = torch.arange(len(table), device=table.device)[:, None]
    # The result for a column of NaN is not used.
    top = torch.where(table >= ranked[0] - TIE, index, len(table) - 1).amin(dim=0)
    return TopTwo(ranked[0], second, top)


def varies(factor_entropy: Float64[Tensor, " factor"]) -> Bool[Tensor, " factor"]:
    """Returns a mask of the factors with an entropy above 0; False for NaN, the entropy of factors without labels."""
    # One different label in 10^12 images has an entropy of 3e-11 nats. For a constant factor, rounding errors are below
    # 1e-14.
    return factor_entropy > 1e-13


def among_factors(
    table: Float64[Tensor, "*rows some"], places: Iterable[int], num_factors: int
) -> Float64[Tensor, "*rows factor"]:
    """Expands a table to a column per factor, with its columns at the indices `places` and NaN in other columns."""
    full = table.new_full((*table.shape[:-1], num_factors), torch.nan)
    full[..., list(places)] = table
    return full
