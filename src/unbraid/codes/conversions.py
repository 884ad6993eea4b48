"""Tensors and labels from arrays, nested lists, mappings and data frames: the arguments of `Codes.from_arrays`."""

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
        factor_names: The names of the columns, if `factors` is a table without names.
        missing: The mark of a missing label: math.nan, a number such as -1, or a word; or a mapping from names of
            factors to such marks.
        unordered: The names of categorical factors. Factors whose values are words are categorical anyway.
        covariance: Image by latent by latent, instead of `std`.
        groups: The latent numbers of each group, such as [(0, 1), (2,)]. Continuous latents are numbered
            first.
        prior: p(z), as a LatentPrior or as arrays by name: {"mean": ..., "std": ...}, with "covariance" instead of
            "std" if latents are correlated, and "probabilities_0", ... for discrete latents. Without it, scores that
            need a prior assume one and add a note.
    """

    factor_names: Sequence[str] | None = None
    missing: Marks = None
    unordered: Sequence[str] = ()
    covariance: Any = None
    groups: Sequence[Sequence[int]] = ()
    prior: LatentPrior | Mapping[str, Any] | None = None


def as_mean(mean: Any, draws: Tensor | None, tables: tuple[Tensor, ...], *, has_spread: bool) -> Tensor:
    """Returns the given means, else the means of the draws, else an empty table (only discrete latents)."""
    if mean is not None:
        return as_floats("mean", mean)
    if has_spread:
        raise CodesError("std, log_var or covariance was given without mean. Give the mean of each posterior too.")
    if draws is not None:
        return draws.double().mean(dim=0).to(draws.dtype)
    if not tables:
        raise CodesError(
            "No codes were given. Give mean (with std or log_var), samples, or the probabilities of discrete latents."
        )
    return tables[0].new_zeros(len(tables[0]), 0)


def as_std(std: Any, log_var: Any) -> Tensor | None:
    """Returns the standard deviations, from `std` or from `log_var`."""
    if std is not None and log_var is not None:
        raise CodesError("Both std and log_var were given. Give one of them.")
    if log_var is not None:
        return (as_floats("log_var", log_var).double() / 2).exp()
    return None if std is None else as_floats("std", std)


def as_draws(samples: Any) -> Float[Tensor, "draw image latent"] | None:
    """Converts the samples to draws. A table of images by latents is one draw."""
    if samples is None:
        return None
    draws = as_floats("samples", samples)
    draws = draws[None] if draws.ndim == 2 else draws
    if draws.ndim != 3 or len(draws) == 0:
        raise CodesError(
            f"samples has shape {tuple(draws.shape)}; expected (images, latents) or (draws, images, latents) with at "
            "least one of each."
        )
    return draws


def as_tables(probabilities: Any) -> tuple[Float[Tensor, "image _category"], ...]:
    """Converts the probabilities to one table per discrete latent. A single table is one latent."""
    given = probabilities
    if not isinstance(given, (list, tuple)):
        given = as_array("probabilities", given)
        given = given if given.ndim == 3 else given[None]
    tables = tuple(as_floats("probabilities", table) for table in given)
    if wrong := [table for table in tables if table.ndim != 2]:
        raise CodesError(
            f"A table of probabilities has shape {tuple(wrong[0].shape)}; expected a list of tables (images, "
            "categories)."
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
    """Converts factors in any form supported by `Codes.from_arrays` to the labels of each factor."""
    columns = _columns(factors, names)
    valid = [name for name, _ in columns]
    if not isinstance(missing, Mapping):
        missing = dict.fromkeys(valid, checked_missing(missing))
    marks = {str(name): mark for name, mark in missing.items()}
    chosen = [unordered] if isinstance(unordered, str) else list(unordered)
    for option, given in (("missing", marks), ("unordered", chosen)):
        if unknown := [str(name) for name in given if name not in valid]:
            raise CodesError(f"{option} names an unknown factor {unknown[0]!r}. {suggestion(unknown[0], valid)}")
    found = tuple(
        column
        if isinstance(column, Labels)
        else Labels.from_column(name, column, missing=marks.get(name), device=device)
        for name, column in columns
    )
    for labels in found:
        if labels.name in chosen and labels.is_continuous:
            raise CodesError(
                f"unordered names the factor {labels.name!r}, which holds floats, so it is continuous. Give its values "
                "as integers or as words."
            )
    return tuple(replace(labels, ordered=False) if labels.name in chosen else labels for labels in found)


def has_names(factors: Any) -> bool:
    """Returns whether the factors have names and a type per column."""
    return isinstance(factors, Mapping) or is_frame(factors) or _is_structured(factors) or _are_labels(factors)


def _columns(factors: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    """Returns the columns of the factors with their names."""
    if factors is None or has_names(factors):
        if names is not None:
            why = "without factors" if factors is None else "with factors that have names already"
            raise CodesError(f"factor_names was given {why}. Leave it out.")
        return [] if factors is None else _named_columns(factors)
    table = factors if isinstance(factors, np.ma.MaskedArray) else as_array("factors", factors)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise CodesError(f"factors has shape {tuple(table.shape)}; expected (images, factors).")
    if names is None:
        names = [f"factor_{place}" for place in range(table.shape[1])]
    names = [names] if isinstance(names, str) else names
    if not hasattr(names, "__len__") or len(names) != table.shape[1]:
        raise CodesError(
            f"factor_names is {str(names)[:80]}; expected a list with a name for each of the {table.shape[1]} columns "
            "of factors."
        )
    return [(str(name), table[:, place]) for place, name in enumerate(names)]


def _named_columns(factors: Any) -> list[tuple[str, Any]]:
    if _are_labels(factors):
        return [(labels.name, labels) for labels in factors]
    if is_frame(factors):
        columns = [str(name) for name in factors.columns]
        if twice := [name for name in columns if columns.count(name) > 1]:
            raise CodesError(f"The data frame has two columns {twice[0]!r}. Give each factor a different name.")
        return [(name, factors.iloc[:, place]) for place, name in enumerate(columns)]
    if _is_structured(factors):
        return [(name, factors[name]) for name in factors.dtype.names]
    return [(str(name), column) for name, column in factors.items()]


def _are_labels(factors: Any) -> bool:
    return isinstance(factors, tuple) and all(isinstance(labels, Labels) for labels in factors)


def _is_structured(factors: Any) -> bool:
    return isinstance(factors, np.ndarray) and factors.dtype.names is not None


def is_frame(factors: Any) -> bool:
    """Returns whether `factors` has the attributes of a DataFrame. Does not need pandas."""
    return hasattr(factors, "columns") and hasattr(factors, "iloc")
