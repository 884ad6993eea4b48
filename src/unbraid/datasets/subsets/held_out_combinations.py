"""Combinations of values that are never shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool
from torch import Tensor

from unbraid.datasets.columns import Values, check_names, discrete_place_of, value_indices
from unbraid.datasets.dataset import Factor
from unbraid.datasets.subsets.subset import Part, Subset
from unbraid.errors import SpecError


@final
@dataclass(frozen=True)
class HeldOutCombinations(Subset):
    """All images but those with certain combinations of values: a hole that the "test" part fills.

    A combination is a value of each of `factors`, in their order. A box is the first and the last value of each, in
    their order: with `factors=("shape", "position_x")`, the box `(2, 2, 16, 31)` is the shape 2 at positions 16 to 31.
    """

    factors: tuple[str, ...]
    """The factors it is about, by name."""
    combinations: tuple[tuple[int, ...], ...] = ()
    """Combinations that are held out: a value of each factor, by number."""
    boxes: tuple[tuple[int, ...], ...] = ()
    """Boxes that are held out: the first and the last value of each factor, by number."""
    part: Part = "train"
    """The images that it describes, or the others."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "HeldOutCombinations")
        if not self.combinations and not self.boxes:
            raise SpecError(
                "HeldOutCombinations: neither combinations nor boxes are given. Give what is to be left out."
            )
        count = len(self.factors)
        for what, entries, length in (("combinations", self.combinations, count), ("boxes", self.boxes, 2 * count)):
            if wrong := [entry for entry in entries if len(entry) != length]:
                each = "a value" if what == "combinations" else "the first and the last value"
                raise SpecError(
                    f"HeldOutCombinations: {what} holds {wrong[0]}; expected {each} for each of "
                    f"{', '.join(self.factors)}: {length} numbers."
                )

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        sizes = [factors[discrete_place_of(name, factors, "HeldOutCombinations")].size for name in self.factors]
        for box in self._all_boxes():
            for name, size, first, last in zip(self.factors, sizes, box[::2], box[1::2], strict=True):
                if not 0 <= first <= last < size:
                    values = f"value {first}" if first == last else f"values {first} to {last}"
                    raise SpecError(
                        f"HeldOutCombinations: {name} has no {values}; its values are 0 to {size - 1}, the first of a "
                        "box before its last."
                    )

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        places = [discrete_place_of(name, factors, "HeldOutCombinations") for name in self.factors]
        columns = torch.stack([value_indices(values, place, factors[place]) for place in places], dim=1)
        held_out = torch.zeros(len(values), dtype=torch.bool, device=values.device)
        for box in self._all_boxes():
            first, last = (torch.tensor(edge, device=values.device) for edge in (box[::2], box[1::2]))
            held_out |= ((columns >= first) & (columns <= last)).all(dim=1)
        return ~held_out

    def _all_boxes(self) -> tuple[tuple[int, ...], ...]:
        return (*self.boxes, *(tuple(value for value in entry for _ in range(2)) for entry in self.combinations))
