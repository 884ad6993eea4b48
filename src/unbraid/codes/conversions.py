"""Conversion of the arguments of `Codes.from_arrays` to tensors and labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import as_array, as_floats
from unbraid._internal.names import suggestion
from unbraid.codes.labels import Labels, Marks, checked_missing
from unbraid.codes.latent_prior import LatentPrior
from unbraid.errors import CodesError


@final
@dataclass(frozen=True, kw_only=True)
class CodesOptions:
    """Options of `Codes.from_arrays`.

    Args:
        factor_names: Names of the columns, if `factors` is a table without names.
        missing: Value that marks a missing label: math.nan, a number such as -1, or a string; or a mapping from factor
            names to such values.
        unordered: Names of categorical factors. Factors with string values are always categorical.
        covariance: Image by latent by latent, instead of `std`.
        groups: Latent indices of each group, such as [(0, 1), (2,)]. Indices of continuous latents come first.
        prior: p(z), as a LatentPrior or as arrays by name: {"mean": ..., "std": ...}, with "covariance" instead of
            "std" if latents are correlated, and "probabilities_0", ... for discrete latents. Without a prior, scores
            that need one assume a prior and add a note.
    """

    factor_names: Sequence[str] | None = None
    missing: Marks = None
    unordered: Sequence[str] = ()
    covariance: Any = None
    groups: Sequence[Sequence[int]] = ()
    prior: LatentPrior | Mapping[str, Any] | None = None


def as_mean(mean: Any, draws: Tensor | None, tables: tuple[Tensor, ...], *, has_spread: bool) -> Tensor:
    """Returns the means if given, otherwise the means of the draws, or an empty table without continuous latents."""
    if mean is not None:
        return as_floats("mean", mean)
    if has_spread:
        raise CodesError(
            "mean is None with std, log_var or covariance; expected means. Pass the mean of each posterior."
        )
    if draws is not None:
        return draws.double().mean(dim=0).to(draws.dtype)
    if not tables:
        raise CodesError(
            "mean, samples and probabilities are missing; expected at least one. Pass mean (with std or log_var), "
            "samples, or the probabilities of discrete latents."
        )
    return tables[0].new_zeros(len(tables[0]), 0)


def as_std(std: Any, log_var: Any) -> Tensor | None:
    """Returns the standard deviations from `std` or `log_var`."""
    if std is not None and log_var is not None:
        raise CodesError("Both std and log_var were given; expected one of them. Omit one.")
    if log_var is not None:
        return (as_floats("log_var", log_var).double() / 2).exp()
    return None if std is None else as_floats("std", std)


def as_draws(samples: Any) -> Float[Tensor, "draw image latent"] | None:
    """Converts samples to a tensor of draws. A table (images, latents) is one draw."""
    if samples is None:
        return None
    draws = as_floats("samples", samples)
    draws = draws[None] if draws.ndim == 2 else draws
    if draws.ndim != 3 or len(draws) == 0:
        raise CodesError(
            f"samples has shape {tuple(draws.shape)}; expected (images, latents) or (draws, images, latents). Pass at "
            "least one draw."
        )
    return draws


def as_tables(probabilities: Any) -> tuple[Float[Tensor, "image _category"], ...]:
    """Converts probabilities to a tuple with one table per discrete latent. A single table is one latent."""
    given = probabilities
    if not isinstance(given, (list, tuple)):
        given = as_array("probabilities", given)
        given = given if given.ndim == 3 else given[None]
    tables = tuple(as_floats("probabilities", table) for table in given)
    if wrong := [table for table in tables if table.ndim != 2]:
        raise CodesError(
            f"A table of probabilities has shape {tuple(wrong[0].shape)}; expected (images, categories). Pass a list "
            "of tables."
        )
    return tables


def as_factors(
    factors: Any,
    names: Sequence[str] | None = None,
    *,
    missing: Marks = None,
    unordered: Sequence[str] = (),
    device: torch.device | str | None = None,
) -> tuple[Labels, ...]:
    """Converts the argument `factors` of `Codes.from_arrays` to a tuple of labels."""
    columns = _columns(factors, names)
    valid = [name for name, _ in columns]
    if not isinstance(missing, Mapping):
        missing = dict.fromkeys(valid, checked_missing(missing))
    marks = {str(name): mark for name, mark in missing.items()}
    chosen = [unordered] if isinstance(unordered, str) else list(unordered)
    for option, given in (("missing", marks), ("unordered", chosen)):
        if unknown := [str(name) for name in given if name not in valid]:
            raise CodesError(f"{option} contains the unknown factor {unknown[0]!r}. {suggestion(unknown[0], valid)}")
    found = tuple(
        column
        if isinstance(column, Labels)
        else Labels.from_column(name, column, missing=marks.get(name), device=device)
        for name, column in columns
    )
    for labels in found:
        if labels.name in chosen and labels.is_continuous:
            raise CodesError(
                f"unordered contains {labels.name!r}, a factor of floats; expected a factor of integers or strings. "
                "Convert its values."
            )
    return tuple(replace(labels, ordered=False) if labels.name in chosen else labels for labels in found)


def has_names(factors: Any) -> bool:
    """Returns whether `factors` contains named columns."""
    return isinstance(factors, Mapping) or is_frame(factors) or _is_structured(factors) or _are_labels(factors)


def _columns(factors: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """Returns the name and the column of each factor."""
    if factors is None or has_names(factors):
        if names is not None:
            why = "without factors" if factors is None else "with named factors"
            raise CodesError(f"factor_names was given {why}; expected factor_names only for a table. Omit it.")
        return [] if factors is None else _named_columns(factors)
    table = factors if isinstance(factors, np.ma.MaskedArray) else as_array("factors", factors)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise CodesError(f"factors has shape {tuple(table.shape)}; expected (images, factors). Pass a 2-d table.")
    if names is None:
        names = [f"factor_{place}" for place in range(table.shape[1])]
    names = [names] if isinstance(names, str) else names
    if not hasattr(names, "__len__") or len(names) != table.shape[1]:
        raise CodesError(
            f"factor_names is {str(names)[:80]}; expected {table.shape[1]} names. Pass a list with one name for each "
            "column of factors."
        )
    return [(str(name), table[:, place]) for place, name in enumerate(names)]


def _named_columns(factors: Any) -> list[tuple[str, Any]]:
    if _are_labels(factors):
        return [(labels.name, labels) for labels in factors]
    if is_frame(factors):
        columns = [str(name) for name in factors.columns]
        if twice := [name for name in columns if columns.count(name) > 1]:
            raise CodesError(f"The DataFrame has two columns {twice[0]!r}; expected different names. Rename one.")
        return [(name, factors.iloc[:, place]) for place, name in enumerate(columns)]
    if _is_structured(factors):
        return [(name, factors[name]) for name in factors.dtype.names]
    return [(str(name), column) for name, column in factors.items()]


def _are_labels(factors: Any) -> bool:
    return isinstance(factors, tuple) and all(isinstance(labels, Labels) for labels in factors)


def _is_structured(factors: Any) -> bool:
    return isinstance(factors, np.ndarray) and factors.dtype.names is not None


def is_frame(factors: Any) -> bool:
    """Returns whether `factors` has the attributes of a DataFrame. Does not import pandas."""
    return hasattr(factors, "columns") and hasattr(factors, "iloc")
