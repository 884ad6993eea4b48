"""The factors and the weights in a user's own arrays."""

from typing import cast

import numpy as np
from jaxtyping import Float32

from unbraid.arrays import shown
from unbraid.data.dataset import Factor
from unbraid.errors import DataError

LABELS = ("factors", "factor_names", "factor_ordered", "factor_known")
"""The arrays that the factors are made from."""


def labels_in(arrays: dict[str, np.ndarray], num_images: int) -> tuple[np.ndarray, tuple[Factor, ...]]:
    """The columns of factors as FactorImages keeps them, and what they are called."""
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
        raise DataError(f"factor_names is [{shown(names)}]; give each factor a name of its own.")
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
