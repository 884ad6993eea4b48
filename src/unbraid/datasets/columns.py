"""Factors for sampling: a name, a size, and a column of values in a table of images."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from unbraid._internal.names import suggestion
from unbraid.datasets.dataset import Factor
from unbraid.errors import DataError, SpecError

Values = Int[Tensor, "image factor"] | Float[Tensor, "image factor"]
"""One column per factor: value indices (-1 where unknown), or measurements (NaN) where the factor is continuous."""


def factor_named(name: str, factors: Sequence[Factor], owner: str) -> Factor:
    """Returns the factor of this name, or raises an error that lists the factors. `owner` is the config that has it."""
    names = [factor.name for factor in factors]
    if name not in names:
        known = suggestion(name, names) if names else "The data set has no factors."
        raise SpecError(f"{owner}: there is no factor {name!r} in this data set. {known}")
    return factors[names.index(name)]


def discrete_factor(name: str, factors: Sequence[Factor], owner: str) -> Factor:
    """Returns the factor of this name, or raises an error if it is continuous."""
    factor = factor_named(name, factors, owner)
    if factor.size == 0:
        discrete = [factor.name for factor in factors if factor.size]
        raise SpecError(
            f"{owner}: {name} is continuous and has no table of values. Put it into bins, as integers, or choose "
            f"among: {', '.join(discrete) or 'none'}."
        )
    return factor


def value_indices(values: Values, name: str, factors: Sequence[Factor], owner: str) -> Int64[Tensor, " image"]:
    """Returns the column of a discrete factor. Raises if a value is unknown (-1) or beyond its size."""
    factor = discrete_factor(name, factors, owner)
    column = values[:, factors.index(factor)].long()
    least, most = int(column.min()), int(column.max())
    if least == -1:
        raise DataError(
            f"The factor {name} is not known in {int((column == -1).sum()):,} images. Label them, or choose another "
            "factor."
        )
    if least < 0 or most >= factor.size:
        raise DataError(
            f"The factor {name} has values from {least} to {most} where 0 to {factor.size - 1} are expected. "
            "Renumber its values, or correct its size."
        )
    return column


def measurements(values: Values, name: str, factors: Sequence[Factor], owner: str) -> Float64[Tensor, " image"]:
    """Returns the column of a factor as numbers, with NaN where it is unknown."""
    factor = factor_named(name, factors, owner)
    column = values[:, factors.index(factor)].to(torch.float64)
    return torch.where(column < 0, math.nan, column) if factor.size else column


def check_names(names: Sequence[str], owner: str, count: int | None = None) -> None:
    """Raises an error if no factors are named, not as many as needed, or one of them twice."""
    expected = "at least one" if count is None else str(count)
    if not names or (count is not None and len(names) != count):
        raise SpecError(
            f"{owner}: factors is {', '.join(names) or 'empty'}; expected {expected}. Name them, separated by commas."
        )
    if len(set(names)) < len(names):
        raise SpecError(f"{owner}: factors is {', '.join(names)}: one of them twice. Name each once.")
