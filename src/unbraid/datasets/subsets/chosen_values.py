"""Images in which a factor has certain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from unbraid.datasets.columns import FactorColumn, Values, discrete_place_of, value_indices
from unbraid.datasets.subsets.subset import Part, Subset, whole_share
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class ChosenValues(Subset):
    """The images in which `factor` has one of these `values`, or one of the first `fraction` of its values, rounded
    down.

    Give one of the two. With `ChosenValues("identity", fraction=0.8)` no identity is in both parts.
    """

    factor: str
    """The factor, by name."""
    values: tuple[int, ...] = ()
    """The values that the images may have, by number."""
    fraction: float | None = None
    """In place of values: the first of them, as a share of all."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.values) == (self.fraction is not None):
            raise SpecError(
                "ChosenValues: give either values, such as 0,1,2, or a fraction, such as 0.8, of the factor's values."
            )
        if self.fraction is not None and not 0 < self.fraction < 1:
            raise SpecError(f"ChosenValues: fraction is {self.fraction}; expected a number between 0 and 1.")
        if len(set(self.values)) < len(self.values):
            raise SpecError(
                f"ChosenValues: values is {', '.join(map(str, self.values))}: one of them twice. Name each once."
            )

    def check(self, factors: Sequence[FactorColumn], num_images: int) -> None:
        factor = factors[discrete_place_of(self.factor, factors, "ChosenValues")]
        if unknown := [value for value in self.values if not 0 <= value < factor.size]:
            raise SpecError(
                f"ChosenValues: {self.factor} has no value {unknown[0]}; its values are 0 to {factor.size - 1}."
            )

    def described(self, factors: Sequence[FactorColumn], values: Values) -> Bool[Tensor, " image"]:
        place = discrete_place_of(self.factor, factors, "ChosenValues")
        wanted = self.values or tuple(range(whole_share(self.fraction or 0.0, factors[place].size)))
        return torch.isin(
            value_indices(values, place, factors[place]), torch.tensor(wanted, dtype=torch.int64, device=values.device)
        )
