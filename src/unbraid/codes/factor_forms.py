"""Factors in the forms that people have them in: a table, a mapping, a data frame, a structured array, or Labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from unbraid._internal.arrays import as_array
from unbraid._internal.names import suggestion
from unbraid.codes.labels import Labels, Missing, checked_missing
from unbraid.errors import CodesError

# What marks a missing label: the same in all factors, or by the name of the factor.
Marks = Missing | Mapping[str, Missing]

# What pandas calls the types of columns that hold words.
_WORDS = ("object", "string", "str")


def as_factors(
    factors: Any,
    names: Sequence[str] | None = None,
    *,
    missing: Marks = None,
    unordered: Sequence[str] = (),
    device: torch.device | str | None = None,
) -> tuple[Labels, ...]:
    """Returns the labels of each factor.

    A table has a column for each factor, which `names` names; a mapping, a data frame of pandas and a structured array
    have names of their own, and each column a type of its own. Integers are values, floats are measurements, words are
    values without an order. `unordered` names other factors whose values have none. What a data frame does not have is
    missing, and so is what equals `missing`, or its entry for the factor, or is masked.
    """
    marks = _checked_marks(missing)
    found = _as_labels(factors, names, marks, device)
    for name in marks if isinstance(marks, dict) else ():
        if name not in (valid := [labels.name for labels in found]):
            raise CodesError(f"missing names a factor {name!r} that there is not. {suggestion(name, valid)}")
    chosen = [unordered] if isinstance(unordered, str) else list(unordered)
    for name in chosen:
        if name not in (valid := [labels.name for labels in found]):
            raise CodesError(f"unordered names a factor {name!r} that there is not. {suggestion(str(name), valid)}")
    for labels in found:
        if labels.name in chosen and labels.is_continuous:
            raise CodesError(
                f"The factor {labels.name!r} is to have no order, and holds floats: measurements. Give its values as "
                "integers or as words."
            )
    return tuple(replace(labels, ordered=False) if labels.name in chosen else labels for labels in found)


def has_names(factors: Any) -> bool:
    """Returns whether the factors have names, and each column a type, of its own."""
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
            raise CodesError("factor_names was given with factors that have names of their own. Leave it out.")
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
    """Returns what marks a missing label of this factor."""
    return missing.get(str(name)) if isinstance(missing, Mapping) else missing


def _are_labels(factors: Any) -> bool:
    return isinstance(factors, tuple) and all(isinstance(labels, Labels) for labels in factors)


def _is_structured(factors: Any) -> bool:
    return isinstance(factors, np.ndarray) and factors.dtype.names is not None


def _is_frame(factors: Any) -> bool:
    """Returns whether this is a data frame: pandas need not be installed, so it is known by what it has."""
    return hasattr(factors, "columns") and hasattr(factors, "iloc")


def _of_series(name: str, column: Any, missing: Missing, device: torch.device | str | None) -> Labels:
    """Returns labels from a column of a data frame. A categorical one has the order of its categories, if they have
    one.
    """
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
        raise CodesError(f"The data frame has two columns {twice!r}. Give each factor a name of its own.")


def _as_names(names: Any) -> list[str]:
    if isinstance(names, str):
        return [names]
    try:
        return list(map(str, names))
    except TypeError:
        raise CodesError(
            f"factor_names is {names!r}; expected a list of names, one for each column of factors."
        ) from None
