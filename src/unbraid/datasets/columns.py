"""Factors as sampling sees them: a name, a size, and a column of values in a table of images."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from unbraid._internal.names import suggestion
from unbraid.datasets.dataset import Factor
from unbraid.errors import DataError, SpecError

Values = Int[Tensor, "image factor"] | Float[Tensor, "image factor"]
"""One column a factor: value indices (-1 where not known), or measurements (NaN) where the factor is continuous."""


def place_of(name: str, factors: Sequence[Factor], asked_by: str) -> int:
    """Returns the column of this factor, or raises an error that lists the factors."""
    names = [factor.name for factor in factors]
    if name not in names:
        known = suggestion(name, names) if names else "The data set has no factors."
        raise SpecError(f"{asked_by}: there is no factor {name!r} in this data set. {known}")
    return names.index(name)


def discrete_place_of(name: str, factors: Sequence[Factor], asked_by: str) -> int:
    """Returns the column of this factor, which must have values that can be counted."""
    place = place_of(name, factors, asked_by)
    if factors[place].size == 0:
        discrete = [factor.name for factor in factors if factor.size]
        raise SpecError(
            f"{asked_by}: {name} is continuous and has no table of values. Put it into bins, as integers, or choose "
            f"among: {', '.join(discrete) or 'none'}."
        )
    return place


def value_indices(values: Values, place: int, factor: Factor) -> Int64[Tensor, " image"]:
    """Returns the column of a discrete factor, checked against its size. Labels that are not known (-1) are refused."""
    column = values[:, place].long()
    least, most = int(column.min()), int(column.max())
    if least == -1:
        raise DataError(
            f"The factor {factor.name} is not known in {int((column == -1).sum()):,} images. Label them, or choose "
            "another factor."
        )
    if least < 0 or most >= factor.size:
        raise DataError(
            f"The factor {factor.name} has values from {least} to {most} where 0 to {factor.size - 1} are expected. "
            "Renumber its values, or correct its size."
        )
    return column


def measurements(values: Values, place: int, factor: Factor) -> Float64[Tensor, " image"]:
    """Returns the column of a factor as numbers, with NaN where it is not known."""
    column = values[:, place].to(torch.float64)
    return torch.where(column < 0, math.nan, column) if factor.size else column


def check_names(names: Sequence[str], asked_by: str, count: int | None = None) -> None:
    """Raises if no factors are named, not as many as needed, or one of them twice."""
    expected = "at least one" if count is None else str(count)
    if not names or (count is not None and len(names) != count):
        raise SpecError(
            f"{asked_by}: factors is {', '.join(names) or 'empty'}; expected {expected}. Name them, separated by "
            "commas."
        )
    if len(set(names)) < len(names):
        raise SpecError(f"{asked_by}: factors is {', '.join(names)}: one of them twice. Name each once.")
