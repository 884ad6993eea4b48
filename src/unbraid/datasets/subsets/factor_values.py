"""Subsets by factor values: chosen values, a threshold, without extreme values, without held-out combinations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

import torch
from jaxtyping import Bool, Float, Float64, Int64
from torch import Tensor

from unbraid.datasets.dataset import (
    Factor,
    Values,
    check_names,
    discrete_factor,
    factor_named,
    value_indices,
)
from unbraid.datasets.subsets.subset import Part, Subset, check_fraction, whole_share
from unbraid.errors import DataError, SpecError


@final
@dataclass(frozen=True)
class ChosenValues(Subset):
    """Subset of images in which a factor has one of the given values, or one of the first `fraction` of its values.

    Give either `values` or `fraction`. The number of values is rounded down. For example, with
    `ChosenValues("identity", fraction=0.8)` no identity is in both parts.
    """

    factor: str
    """Name of the factor."""
    values: tuple[int, ...] = ()
    """Value indices to include."""
    fraction: float | None = None
    """Fraction of the values to include, from the first value on (an alternative to `values`)."""
    part: Part = "train"
    """Part of the split: the described images ("train"), or all other images ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.values) == (self.fraction is not None):
            raise SpecError(
                f"ChosenValues: got values {self.values} and fraction {self.fraction}; expected exactly one of them. "
                "Give values=(0, 1, 2) or fraction=0.8."
            )
        check_fraction(self, "fraction")
        if self.values:
            check_names(list(map(str, self.values)), "ChosenValues", "values")

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        _check_values(self.values, self.factor, factors, "ChosenValues")

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        size = discrete_factor(self.factor, factors, "ChosenValues").size
        wanted = self.values or tuple(range(whole_share(self.fraction or 0.0, size)))
        column = value_indices(values, self.factor, factors, "ChosenValues")
        return torch.isin(column, torch.tensor(wanted, dtype=torch.int64, device=column.device))


@final
@dataclass(frozen=True)
class Threshold(Subset):
    """Subset of images with a factor below a threshold, or above (greater than or equal to) a threshold.

    Give either `value` or `quantile`, the fraction of the images below the threshold (rounded down, up to ties). The
    factor must be continuous or ordered. Images with an unknown value are on neither side and do not count.
    """

    factor: str
    """Name of the factor."""
    side: Literal["below", "above"] = "below"
    """Side of the threshold: "below" (less), or "above" (greater or equal)."""
    value: float | None = None
    """Threshold of the factor."""
    quantile: float | None = None
    """Fraction of the images below the threshold (an alternative to `value`)."""
    part: Part = "train"
    """Part of the split: the described images ("train"), or all other images ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.value is None) == (self.quantile is None):
            raise SpecError(
                f"Threshold: got value {self.value} and quantile {self.quantile}; expected exactly one. Omit the other."
            )
        if self.value is not None and not math.isfinite(self.value):
            raise SpecError(f"Threshold: value is {self.value}; expected a finite number. Give e.g. value=0.5.")
        check_fraction(self, "quantile")

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        _check_ordered(self.factor, factors, "Threshold")

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        column = _known_values(values, self.factor, factors, "Threshold")
        threshold = self.value
        if threshold is None:
            known = column[~column.isnan()]
            if len(known) == 0:
                raise DataError(
                    f"Threshold: {self.factor} is unknown in all {len(column):,} images. Choose another factor."
                )
            threshold = float(known.sort().values[whole_share(self.quantile or 0.0, len(known))])
        return column < threshold if self.side == "below" else column >= threshold


@final
@dataclass(frozen=True)
class OuterValues(Subset):
    """Subset of images without extreme values of a factor, among the images with a given value of another factor.

    `OuterValues("thickness", "digit", 7)` excludes thick sevens: the `fraction` of the sevens with the largest
    thickness. This is the zero-shot experiment of Esmaeili et al., arXiv:1804.02086v1, section 6.4, with a measured
    factor instead of a latent.
    """

    factor: str
    """Name of the ordered or continuous factor."""
    among: str
    """Name of the discrete factor that selects the candidate images."""
    value: int
    """Value index of the discrete factor `among`."""
    fraction: float = 0.2
    """Fraction of the candidate images to exclude, rounded down."""
    side: Literal["high", "low"] = "high"
    """Whether to exclude the largest or the smallest values of the factor."""
    part: Part = "train"
    """Part of the split: the included images ("train"), or the excluded images ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fraction(self, "fraction")

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        _check_ordered(self.factor, factors, "OuterValues")
        _check_values((self.value,), self.among, factors, "OuterValues")

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        looked_at = value_indices(values, self.among, factors, "OuterValues") == self.value
        column = _known_values(values, self.factor, factors, "OuterValues")
        kept = torch.ones(len(values), dtype=torch.bool, device=values.device)
        kept[outer_rows(column, looked_at, self.fraction, self.side)] = False
        return kept


@final
@dataclass(frozen=True)
class HeldOutCombinations(Subset):
    """Subset of images without held-out combinations of factor values. The held-out images are the "test" part.

    A combination has one value for each of `factors`, in order. A box has the first and the last value of each factor,
    in order: with `factors=("shape", "position_x")`, the box `(2, 2, 16, 31)` is the shape 2 at positions 16 to 31.
    """

    factors: tuple[str, ...]
    """Names of the factors."""
    combinations: tuple[tuple[int, ...], ...] = ()
    """Held-out combinations: one value index for each factor."""
    boxes: tuple[tuple[int, ...], ...] = ()
    """Held-out boxes: the first and the last value index of each factor."""
    part: Part = "train"
    """Part of the split: the described images ("train"), or all other images ("test")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names(self.factors, "HeldOutCombinations")
        if not self.combinations and not self.boxes:
            raise SpecError("HeldOutCombinations: combinations and boxes are empty. Give at least one of them.")
        count = len(self.factors)
        for what, entries, length in (("combinations", self.combinations, count), ("boxes", self.boxes, 2 * count)):
            if wrong := [entry for entry in entries if len(entry) != length]:
                each = "a value" if what == "combinations" else "the first and the last value"
                raise SpecError(
                    f"HeldOutCombinations: {what} has the entry {wrong[0]}; expected {length} numbers. Give {each} for "
                    f"each of {', '.join(self.factors)}."
                )

    def check(self, factors: Sequence[Factor], num_images: int) -> None:
        sizes = [discrete_factor(name, factors, "HeldOutCombinations").size for name in self.factors]
        for box in self._all_boxes():
            for name, size, first, last in zip(self.factors, sizes, box[::2], box[1::2], strict=True):
                if not 0 <= first <= last < size:
                    values = f"value {first}" if first == last else f"values {first} to {last}"
                    raise SpecError(
                        f"HeldOutCombinations: {name} has no {values}; expected values from 0 to {size - 1}. In a box, "
                        "give the smaller value of a factor first."
                    )

    def described(self, factors: Sequence[Factor], values: Values) -> Bool[Tensor, " image"]:
        found = [value_indices(values, name, factors, "HeldOutCombinations") for name in self.factors]
        columns = torch.stack(found, dim=1)
        held_out = torch.zeros(len(values), dtype=torch.bool, device=values.device)
        for box in self._all_boxes():
            first, last = (torch.tensor(edge, device=values.device) for edge in (box[::2], box[1::2]))
            held_out |= ((columns >= first) & (columns <= last)).all(dim=1)
        return ~held_out

    def _all_boxes(self) -> tuple[tuple[int, ...], ...]:
        return (*self.boxes, *(tuple(value for value in entry for _ in range(2)) for entry in self.combinations))


def _check_ordered(name: str, factors: Sequence[Factor], owner: str) -> None:
    if not factor_named(name, factors, owner).ordered:
        raise SpecError(
            f"{owner}: {name} is categorical; expected an ordered factor. Choose another factor, or use ChosenValues."
        )


def _check_values(values: Sequence[int], name: str, factors: Sequence[Factor], owner: str) -> None:
    size = discrete_factor(name, factors, owner).size
    if unknown := [value for value in values if not 0 <= value < size]:
        raise SpecError(f"{owner}: {name} has no value {unknown[0]}. Choose values from 0 to {size - 1}.")


def _known_values(values: Values, name: str, factors: Sequence[Factor], owner: str) -> Float64[Tensor, " image"]:
    """Returns the values of a factor as numbers, with NaN for unknown values."""
    factor = factor_named(name, factors, owner)
    column = values[:, factors.index(factor)].to(torch.float64)
    return torch.where(column < 0, math.nan, column) if factor.size else column


def outer_rows(
    feature: Float[Tensor, " image"],
    among: Bool[Tensor, " image"],
    fraction: float = 0.2,
    side: Literal["high", "low"] = "high",
) -> Int64[Tensor, " row"]:
    """Returns the rows with the largest or smallest feature: a fraction, rounded down, of the rows in a mask `among`.

    In Esmaeili et al., arXiv:1804.02086v1, section 6.4, thick sevens are the sevens with a high value of a latent for
    thickness, and narrow zeros the zeros with a low value of a latent for width. A second model is trained on the other
    images (`all_but`) and reconstructs the returned rows. The paper does not give the fraction. Ties are broken in
    favor of earlier rows.
    """
    if not 0 < fraction < 1:
        raise SpecError(f"outer_rows: fraction is {fraction}; expected a number between 0 and 1. Use e.g. 0.2.")
    rows = among.nonzero()[:, 0]
    looked_at = feature[rows.to(feature.device)]
    count = whole_share(fraction, len(rows))
    if count == 0:
        raise DataError(
            f"outer_rows: {fraction:g} of the {len(rows):,} rows in `among` is less than one row. Increase fraction."
        )
    if num_bad := int((~looked_at.isfinite()).sum()):
        raise DataError(
            f"outer_rows: the feature is NaN or infinite in {num_bad:,} of the rows in `among`. Drop these rows."
        )
    order = looked_at.argsort(descending=side == "high", stable=True).to(rows.device)
    return rows[order[:count]].sort().values


def all_but(rows: Int64[Tensor, " row"], num_images: int) -> Int64[Tensor, " kept"]:
    """Returns all row numbers except the given rows, in order."""
    kept = torch.ones(num_images, dtype=torch.bool, device=rows.device)
    kept[rows] = False
    return kept.nonzero()[:, 0]
