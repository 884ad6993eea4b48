"""All images but those in which something is extreme."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import torch
from jaxtyping import Bool
from torch import Tensor

from unbraid.datasets.columns import (
    FactorColumn,
    Values,
    discrete_place_of,
    measurements,
    place_of,
    value_indices,
)
from unbraid.datasets.subsets.subset import Part, Subset
from unbraid.datasets.subsets.zero_shot import outer_rows
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class OuterValues(Subset):
    """All images but a `fraction` of those in which `among` has this `value`: the ones in which `factor` is greatest
    ("high") or least ("low"). `OuterValues("thickness", "digit", 7)` leaves out thick sevens.

    The zero-shot experiment of Esmaeili et al., arXiv:1804.02086v1, section 6.4, with a measured factor instead of a
    latent that shows it.
    """

    factor: str
    """The ordered or continuous factor, by name."""
    among: str
    """Name of the discrete factor that selects the images looked at."""
    value: int
    """The value of that factor, by number."""
    fraction: float = 0.2
    """The share of the images looked at that is left out, rounded down."""
    side: Literal["high", "low"] = "high"
    """Whether those are left out in which the factor is greatest, or least."""
    part: Part = "train"
    """The images that are kept, or those that are left out."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.fraction < 1:
            raise SpecError(f"OuterValues: fraction is {self.fraction}; expected a number between 0 and 1.")

    def check(self, factors: Sequence[FactorColumn], num_images: int) -> None:
        if not factors[place_of(self.factor, factors, "OuterValues")].ordered:
            raise SpecError(
                f"OuterValues: the values of {self.factor} have no order, so that none is outer. Name a factor with "
                "an order."
            )
        among = factors[discrete_place_of(self.among, factors, "OuterValues")]
        if not 0 <= self.value < among.size:
            raise SpecError(
                f"OuterValues: {self.among} has no value {self.value}; its values are 0 to {among.size - 1}."
            )

    def described(self, factors: Sequence[FactorColumn], values: Values) -> Bool[Tensor, " image"]:
        place = place_of(self.factor, factors, "OuterValues")
        where = discrete_place_of(self.among, factors, "OuterValues")
        looked_at = value_indices(values, where, factors[where]) == self.value
        left_out = outer_rows(measurements(values, place, factors[place]), looked_at, self.fraction, self.side)
        kept = torch.ones(len(values), dtype=torch.bool, device=values.device)
        kept[left_out.to(values.device)] = False
        return kept
