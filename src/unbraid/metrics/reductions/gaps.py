"""How far ahead the best latent of each factor is."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float64, Int64
from torch import Tensor

# Entries closer than this, in nats, tie: rounding, which differs between machines, is not to choose between them.
TIE = 1e-9


@final
@dataclass(frozen=True)
class TopTwo:
    """Holds the largest and the second largest entry of each column, and the row of the largest."""

    first: Float64[Tensor, " factor"]
    second: Float64[Tensor, " factor"]
    top: Int64[Tensor, " factor"]

    @property
    def gap(self) -> Float64[Tensor, " factor"]:
        return self.first - self.second


def top_two(table: Float64[Tensor, "latent factor"]) -> TopTwo:
    """Returns the two largest entries of each column. Of entries that tie, the one of the lowest index comes first;
    with a single latent the runner-up is 0.
    """
    ranked = table.sort(dim=0, descending=True).values
    second = ranked[1] if len(table) > 1 else torch.zeros_like(ranked[0])
    index = torch.arange(len(table), device=table.device)[:, None]
    # Where a column is NaN there is no top, and it is not read.
    top = torch.where(table >= ranked[0] - TIE, index, len(table) - 1).amin(dim=0)
    return TopTwo(ranked[0], second, top)


def varies(factor_entropy: Float64[Tensor, " factor"]) -> Bool[Tensor, " factor"]:
    """Returns which factors have an entropy to divide by; not those that are known nowhere, whose entropy is NaN."""
    # One label in 10^12 images has an entropy of 3e-11 nats; rounding leaves less than 1e-14 for a constant factor.
    return factor_entropy > 1e-13


def mean_over_factors(per_factor: Float64[Tensor, " factor"], defined: Bool[Tensor, " factor"]) -> Float64[Tensor, ""]:
    """Returns the mean over the factors that are defined."""
    return per_factor[defined].mean()


def where_defined(
    per_factor: Float64[Tensor, " factor"], defined: Bool[Tensor, " factor"]
) -> Float64[Tensor, " factor"]:
    """Returns the numbers with NaN for the factors that are not defined."""
    return torch.where(defined, per_factor, torch.nan)
