"""The factors and the weights in a user's own arrays."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float32

from unbraid._internal.arrays import shown
from unbraid._internal.names import suggestion
from unbraid.codes import Labels
from unbraid.codes.conversions import as_factors
from unbraid.codes.labels import Marks
from unbraid.codes.named_arrays import COLUMNS, columns_in, factor_arrays, in_order
from unbraid.datasets.dataset import Factor, labels_of
from unbraid.errors import CodesError, DataError

LABELS = ("factors", "factor_names", "factor_ordered", "factor_known")
"""The arrays that the factors are made from."""


def is_label(name: str) -> bool:
    """Returns whether factors are made from an array of this name."""
    return name in LABELS or name.startswith(COLUMNS)


def labels_in(arrays: dict[str, np.ndarray], num_images: int) -> tuple[tuple[Labels, ...], tuple[Factor, ...]]:
    """Returns the factors as FactorImages keeps them, and what they are called: from one table, or from an array for
    each, as files of codes have them.
    """
    if any(name.startswith(COLUMNS) for name in arrays):
        return _of_columns(arrays, num_images)
    values, factors = _of_table(arrays, num_images)
    columns = torch.from_numpy(values).unbind(1)
    return tuple(labels_of(factor, column) for factor, column in zip(factors, columns, strict=True)), factors


def as_arrays(
    factors: Any, names: Sequence[str] | None, *, missing: Marks, unordered: Sequence[str]
) -> dict[str, np.ndarray]:
    """Returns factors that carry names, or missing labels, as arrays by name."""
    try:
        labels = as_factors(factors, names, missing=missing, unordered=unordered)
    except CodesError as error:
        raise DataError(str(error)) from None
    if soft := [each.name for each in labels if each.is_soft]:
        raise DataError(f"The factor {soft[0]!r} has probabilities, and images are labeled by values. Give those.")
    order = np.array([each.name for each in labels], dtype=np.str_)
    return {"factor_names": order} | {name: tensor.numpy() for name, tensor in factor_arrays(labels).items()}


def ordered_flags(arrays: dict[str, np.ndarray], unordered: Sequence[str]) -> np.ndarray:
    """Returns for each column of a table whether its values have an order."""
    names = _names(arrays, 1 if arrays["factors"].ndim == 1 else arrays["factors"].shape[-1])
    chosen = [unordered] if isinstance(unordered, str) else list(unordered)
    for name in chosen:
        if name not in names:
            raise DataError(f"unordered names a factor {name!r} that there is not. {suggestion(str(name), names)}")
    return np.array([name not in chosen for name in names], dtype=np.bool_)


def _of_columns(arrays: dict[str, np.ndarray], num_images: int) -> tuple[tuple[Labels, ...], tuple[Factor, ...]]:
    if "factors" in arrays:
        raise DataError("There are both factors and arrays of single factors. Give the factors in one way.")
    names = arrays["factor_names"].tolist() if "factor_names" in arrays else None
    try:
        found = in_order(columns_in(arrays), names)
    except CodesError as error:
        raise DataError(str(error)) from None
    for labels in found:
        if len(labels.values) != num_images or labels.is_soft:
            raise DataError(
                f"The factor {labels.name!r} has shape {tuple(labels.values.shape)} for {num_images} images; expected "
                "one label an image."
            )
        if not bool(labels.is_known.any()):
            raise DataError(f"The factor {labels.name!r} is known in no image. Label some of them, or leave it out.")
    ranked = tuple(labels if labels.is_continuous else replace(labels, values=labels.assignment()) for labels in found)
    factors = (
        Factor(labels.name, 0 if labels.is_continuous else int(labels.values.max()) + 1, labels.ordered)
        for labels in ranked
    )
    return ranked, tuple(factors)


def _of_table(arrays: dict[str, np.ndarray], num_images: int) -> tuple[np.ndarray, tuple[Factor, ...]]:
    if "factors" not in arrays:
        if stray := [name for name in LABELS if name in arrays]:
            raise DataError(
                f"{stray[0]} is given without factors; give the factors too, (image, factor), or leave it out."
            )
        return np.empty((num_images, 0), dtype=np.int64), ()
    table = arrays["factors"]
    known = arrays.get("factor_known", np.ones(table.shape, dtype=np.bool_))
    if known.dtype != np.bool_ or known.shape != table.shape:
        raise DataError(
            f"factor_known is {known.dtype} of shape {known.shape}; expected a boolean for each label of factors, "
            f"{table.shape}."
        )
    table, known = (table[:, None], known[:, None]) if table.ndim == 1 else (table, known)
    if table.ndim != 2 or len(table) != num_images:
        raise DataError(
            f"factors has shape {table.shape} for {num_images} images; expected (image, factor), one row an image."
        )
    names, ordered = _names(arrays, table.shape[1]), _ordered(arrays, table.shape[1])
    if unknown := [name for name, column in zip(names, known.T, strict=True) if not column.any()]:
        raise DataError(f"The factor {unknown[0]!r} is masked in every image. Label some of them, or leave it out.")
    if np.issubdtype(table.dtype, np.floating):
        with np.errstate(over="ignore"):  # a long double may be beyond a double
            table = table.astype(np.float64 if table.dtype.itemsize > 4 else np.float32)
        if num_bad := int((~np.isfinite(table) & known).any(axis=1).sum()):
            raise DataError(
                f"factors is NaN or infinite in {num_bad} rows; drop those images, or mask the labels: "
                "numpy.ma.masked_invalid(factors)."
            )
        table[~known] = np.nan
        return table, tuple(Factor(name, 0, rank) for name, rank in zip(names, ordered, strict=True))
    if not (np.issubdtype(table.dtype, np.integer) or table.dtype == np.bool_):
        raise DataError(f"factors holds {table.dtype}; give integers for discrete factors, floats for continuous ones.")
    indices, factors = np.full(table.shape, -1, dtype=np.int64), []
    for place, (name, rank) in enumerate(zip(names, ordered, strict=True)):
        values, ranks = np.unique(table[known[:, place], place], return_inverse=True)
        indices[known[:, place], place] = ranks
        factors.append(Factor(name, len(values), rank))
    return indices, tuple(factors)


def _names(arrays: dict[str, np.ndarray], num_factors: int) -> list[str]:
    if "factor_names" not in arrays:
        return [f"factor_{k}" for k in range(num_factors)]
    given = arrays["factor_names"]
    if given.dtype.kind != "U" or given.shape != (num_factors,):
        raise DataError(
            f"factor_names is {given.dtype} of shape {given.shape}; expected one string for each of the {num_factors} "
            "factors."
        )
    names: list[str] = given.tolist()
    if len(set(names)) < num_factors or "" in names:
        raise DataError(f"factor_names is [{shown(names)}]; give each factor a different name.")
    return names


def _ordered(arrays: dict[str, np.ndarray], num_factors: int) -> list[bool]:
    ordered = arrays.get("factor_ordered", np.ones(num_factors, dtype=np.bool_))
    if ordered.dtype != np.bool_ or ordered.shape != (num_factors,):
        raise DataError(
            f"factor_ordered is {ordered.dtype} of shape {ordered.shape}; expected a boolean for each of "
            f"{num_factors} factors."
        )
    return cast(list[bool], ordered.tolist())


def probabilities_in(arrays: dict[str, np.ndarray], num_images: int) -> Float32[np.ndarray, " image"] | None:
    if "weights" not in arrays:
        return None
    weights = arrays["weights"]
    if weights.shape != (num_images,) or weights.dtype.kind not in "iuf":
        raise DataError(
            f"weights is {weights.dtype} of shape {weights.shape}; expected one number for each of the {num_images} "
            "images."
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() <= 0:
        raise DataError(
            f"weights runs from {weights.min():g} to {weights.max():g}; expected finite weights, none negative, not "
            "all zero."
        )
    shares = weights / weights.max()  # first, so that the sum cannot overflow
    return (shares / shares.sum(dtype=np.float64)).astype(np.float32)
