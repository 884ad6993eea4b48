"""Codes and factors from arrays, tensors, nested lists, mappings and data frames."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from unbraid._internal.arrays import as_array, as_floats
from unbraid._internal.names import suggestion
from unbraid.codes.checks import as_groups, check_finite, refuse_where
from unbraid.codes.codes import Codes
from unbraid.codes.labels import Labels, Marks, Missing, checked_missing
from unbraid.codes.latent_prior import LatentPrior
from unbraid.errors import CodesError

# The types of columns of words in pandas.
_WORDS = ("object", "string", "str")


@final
@dataclass(frozen=True, kw_only=True)
class CodesOptions:
    """Options of `Codes.from_arrays`.

    Args:
        factor_names: The names of the columns, if factors are a table without names.
        missing: The mark of a missing label: math.nan, a number such as -1, or a word; or a mapping from names of
            factors to such marks.
        unordered: The names of categorical factors. Factors whose values are words are categorical anyway.
        covariance: Image by latent by latent, instead of `std`.
        groups: The numbers of the latents that belong together, such as [(0, 1), (2,)]; the continuous ones come
            first.
        prior: p(z), as a LatentPrior or as arrays by name: {"mean": ..., "std": ...}, with "covariance" instead of
            "std" where it correlates latents, and "probabilities_0", ... for discrete ones. Scores that compare codes
            with their prior carry a note where they assume one.
    """

    factor_names: Sequence[str] | None = None
    missing: Marks = None
    unordered: Sequence[str] = ()
    covariance: Any = None
    groups: Sequence[Sequence[int]] = ()
    prior: LatentPrior | Mapping[str, Any] | None = None


def codes_from_arrays(
    mean: Any = None,
    std: Any = None,
    *,
    log_var: Any = None,
    samples: Any = None,
    probabilities: Any = (),
    factors: Any = None,
    weights: Any = None,
    options: CodesOptions | None = None,
) -> Codes:
    """Returns codes from the arguments of `Codes.from_arrays`, also for a single image."""
    options = options or CodesOptions()
    covariance, prior = options.covariance, options.prior
    draws = None if samples is None else _as_draws(samples)
    tables = _as_tables(probabilities)
    center = _as_mean(mean, draws, tables, has_spread=not (std is log_var is covariance is None))
    return Codes(
        mean=center,
        std=_as_std(std, log_var, center),
        covariance=None if covariance is None else as_floats("covariance", covariance).to(center),
        samples=None if draws is None else draws.to(center),
        probabilities=tuple(table.to(center.device) for table in tables),
        groups=as_groups(options.groups),
        factors=as_factors(
            factors,
            options.factor_names,
            missing=options.missing,
            unordered=options.unordered,
            device=center.device,
        ),
        weights=None if weights is None else as_floats("weights", weights).to(center.device),
        prior=LatentPrior.from_mapping(prior) if isinstance(prior, Mapping) else prior,
    )


def _as_mean(
    mean: Any, draws: Tensor | None, tables: tuple[Tensor, ...], *, has_spread: bool
) -> Float[Tensor, "image latent"]:
    if mean is not None:
        return _as_matrix("mean", mean)
    if has_spread:
        raise CodesError("std, log_var or covariance was given without mean. Give the mean of each posterior too.")
    if draws is not None:
        return draws.double().mean(dim=0).to(draws.dtype)
    if not tables:
        raise CodesError(
            "No codes were given. Give mean (with std or log_var), samples, or the probabilities of discrete latents."
        )
    return tables[0].new_zeros(len(tables[0]), 0)


def _as_matrix(name: str, values: Any) -> Float[Tensor, "image latent"]:
    matrix = as_floats(name, values)
    if matrix.ndim != 2 or len(matrix) == 0:
        raise CodesError(
            f"{name} has shape {tuple(matrix.shape)}; expected (images, latents) with at least one of each."
        )
    return matrix


def _as_std(std: Any, log_var: Any, mean: Tensor) -> Tensor | None:
    if std is not None and log_var is not None:
        raise CodesError("Both std and log_var were given. Give one of them.")
    if log_var is None:
        return None if std is None else _as_matrix("std", std).to(mean)
    logs = _as_matrix("log_var", log_var).double()
    if logs.shape != mean.shape:
        raise CodesError(
            f"log_var has shape {tuple(logs.shape)} and mean {tuple(mean.shape)}; give one log-variance for each mean."
        )
    check_finite("log_var", logs.isnan() | (logs == torch.inf))
    std_of_logs = (logs / 2).exp().to(mean)
    refuse_where(
        std_of_logs.isinf(),
        "log_var is so large that the std, exp(log_var / 2), overflows",
        "It is the natural logarithm of the variance.",
    )
    return std_of_logs


def _as_draws(samples: Any) -> Float[Tensor, "draw image latent"]:
    draws = as_floats("samples", samples)
    if draws.ndim == 2:
        draws = draws[None]
    if draws.ndim != 3 or 0 in draws.shape[:2]:
        raise CodesError(
            f"samples has shape {tuple(draws.shape)}; expected (images, latents) or (draws, images, latents) with at "
            "least one of each."
        )
    check_finite("samples", (~draws.isfinite()).any(dim=0))
    return draws


def _as_tables(probabilities: Any) -> tuple[Float[Tensor, "image _category"], ...]:
    given = probabilities if isinstance(probabilities, (list, tuple)) else as_array("probabilities", probabilities)
    if not isinstance(given, (list, tuple)) and given.ndim not in (2, 3):
        raise CodesError(
            f"probabilities has shape {tuple(given.shape)}; expected a list of tables (images, categories)."
        )
    is_one_table = not isinstance(given, (list, tuple)) and given.ndim == 2
    tables = tuple(as_floats("probabilities", table) for table in ([given] if is_one_table else given))
    for table in tables:
        if table.ndim != 2 or 0 in table.shape:
            raise CodesError(
                f"A table of probabilities has shape {tuple(table.shape)}; expected a list of tables (images, "
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
    """Returns the labels of each factor.

    A table has a column for each factor, called by `names`; a mapping, a pandas DataFrame and a structured array have
    named columns, each with its type. Integers are values of discrete factors, floats of continuous ones, words of
    categorical ones. `unordered` lists more categorical factors. Labels that a DataFrame lacks are missing, and so are
    labels that are masked or equal `missing` (or its entry for the factor).
    """
    marks = _checked_marks(missing)
    found = _as_labels(factors, names, marks, device)
    for name in marks if isinstance(marks, dict) else ():
        if name not in (valid := [labels.name for labels in found]):
            raise CodesError(f"missing names an unknown factor {name!r}. {suggestion(name, valid)}")
    chosen = [unordered] if isinstance(unordered, str) else list(unordered)
    for name in chosen:
        if name not in (valid := [labels.name for labels in found]):
            raise CodesError(f"unordered names an unknown factor {name!r}. {suggestion(str(name), valid)}")
    for labels in found:
        if labels.name in chosen and labels.is_continuous:
            raise CodesError(
                f"unordered names the factor {labels.name!r}, which holds floats, so it is continuous. Give its values "
                "as integers or as words."
            )
    return tuple(replace(labels, ordered=False) if labels.name in chosen else labels for labels in found)


def has_names(factors: Any) -> bool:
    """Returns whether the factors come with names, and each column with its type."""
    return isinstance(factors, Mapping) or _is_frame(factors) or _is_structured(factors) or _are_labels(factors)


def _as_labels(
    factors: Any, names: Sequence[str] | None, missing: Marks, device: torch.device | str | None
) -> tuple[Labels, ...]:
    if factors is None:
        if names is not None:
            raise CodesError("factor_names was given without factors. Give the factors too, or leave the names out.")
        return ()
    if has_names(factors):
        if names is not None:
            raise CodesError("factor_names was given with factors that have names already. Leave it out.")
        if _are_labels(factors):
            return tuple(factors)
        if _is_frame(factors):
            _check_names([str(name) for name in factors.columns])
            return tuple(_of_series(str(name), factors[name], _mark(missing, name), device) for name in factors.columns)
        columns = {name: factors[name] for name in factors.dtype.names} if _is_structured(factors) else factors
        return tuple(
            Labels.from_column(str(name), column, missing=_mark(missing, name), device=device)
            for name, column in columns.items()
        )
    table = factors if isinstance(factors, np.ma.MaskedArray) else as_array("factors", factors)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise CodesError(f"factors has shape {tuple(table.shape)}; expected (images, factors).")
    names = [f"factor_{k}" for k in range(table.shape[1])] if names is None else _as_names(names)
    if len(names) != table.shape[1]:
        raise CodesError(
            f"{len(names)} factor names were given for {table.shape[1]} columns of factors; give one name a column."
        )
    return tuple(
        Labels.from_column(name, table[:, k], missing=_mark(missing, name), device=device)
        for k, name in enumerate(names)
    )


def _checked_marks(missing: Any) -> Marks:
    if isinstance(missing, Mapping):
        return {str(name): checked_missing(mark) for name, mark in missing.items()}
    return checked_missing(missing)


def _mark(missing: Marks, name: Any) -> Missing:
    """Returns the mark of a missing label of this factor."""
    return missing.get(str(name)) if isinstance(missing, Mapping) else missing


def _are_labels(factors: Any) -> bool:
    return isinstance(factors, tuple) and all(isinstance(labels, Labels) for labels in factors)


def _is_structured(factors: Any) -> bool:
    return isinstance(factors, np.ndarray) and factors.dtype.names is not None


def _is_frame(factors: Any) -> bool:
    """Returns whether this has the attributes of a DataFrame; pandas need not be installed."""
    return hasattr(factors, "columns") and hasattr(factors, "iloc")


def _of_series(name: str, column: Any, missing: Missing, device: torch.device | str | None) -> Labels:
    """Returns labels from a column of a DataFrame. A categorical one is ordered if its categories are."""
    absent = np.asarray(column.isna(), dtype=np.bool_)
    kind = str(column.dtype)
    if hasattr(column, "cat"):
        numbers = np.ma.masked_array(np.asarray(column.cat.codes, dtype=np.int64), absent)
        return replace(Labels.from_column(name, numbers, device=device), ordered=bool(column.cat.ordered))
    if kind in _WORDS or kind.startswith("string"):
        words = np.where(absent, "", column.astype(object))
        if not all(isinstance(word, str) for word in words):
            raise CodesError(f"The column {name!r} holds objects of several kinds. Give numbers of one type, or words.")
        return Labels.from_column(
            name, np.ma.masked_array(words.astype(np.str_), absent), missing=missing, device=device
        )
    if getattr(column.dtype, "kind", "O") not in "biuf":
        raise CodesError(f"The column {name!r} holds {kind}; give numbers or words, or leave it out.")
    plain: np.ndarray = np.asarray(
        column.fillna(0), dtype={"b": np.bool_, "f": np.float64}.get(column.dtype.kind, np.int64)
    )
    return Labels.from_column(name, np.ma.masked_array(plain, absent), missing=missing, device=device)


def _check_names(names: list[str]) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise CodesError(f"The data frame has two columns {twice!r}. Give each factor a different name.")


def _as_names(names: Any) -> list[str]:
    if isinstance(names, str):
        return [names]
    try:
        return list(map(str, names))
    except TypeError:
        raise CodesError(
            f"factor_names is {names!r}; expected a list of names, one for each column of factors."
        ) from None
