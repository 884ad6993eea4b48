"""Validation of labels from users, and conversion of their values to indices from 0."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from jaxtyping import Float, Float32, Int64

from unbraid._internal.names import suggestion
from unbraid.codes import Labels
from unbraid.codes.conversions import as_factors
from unbraid.codes.labels import Marks, is_missing
from unbraid.codes.named_arrays import COLUMNS, columns_in, factor_arrays, in_order
from unbraid.datasets.dataset import Factor, tabulated
from unbraid.errors import CodesError, DataError

_TABLE = ("factors", "factor_names", "factor_ordered", "factor_known")


def ranked(labels: Labels) -> Labels:
    """Replaces the values of a discrete factor by their ranks: 3, 7, 7, -1 become 1, 2, 2, 0."""
    return labels if labels.is_continuous else replace(labels, values=labels.assignment())


def factor_table(columns: Sequence[Labels], words: Mapping[str, Sequence[str]] | None = None) -> tuple[Factor, ...]:
    """Returns the factors of labels with value indices. A factor has at least as many values as category names."""
    if unknown := [labels.name for labels in columns if not bool(labels.is_known.any())]:
        raise DataError(f"The factor {unknown[0]!r} is unknown in all images. Label some images, or omit the factor.")
    sizes = [0 if labels.is_continuous else int(labels.values.max()) + 1 for labels in columns]
    return tuple(
        Factor(labels.name, size and max(size, len((words or {}).get(labels.name, ()))), labels.ordered)
        for labels, size in zip(columns, sizes, strict=True)
    )


@final
@dataclass(frozen=True)
class LabelTable:
    """Table of value indices with one column per factor, and the category names of categorical factors."""

    values: Int64[np.ndarray, "image factor"] | Float[np.ndarray, "image factor"]
    factors: tuple[Factor, ...]
    words: dict[str, tuple[str, ...]]

    @classmethod
    def from_columns(cls, columns: Sequence[tuple[Labels, tuple[str, ...]]], num_images: int) -> "LabelTable":
        """Creates a table from columns of labels and their category names."""
        found, words = [labels for labels, _ in columns], {labels.name: names for labels, names in columns if names}
        return cls(tabulated(found, num_images).numpy(), factor_table(found, words), words)


def from_text(name: str, cells: Sequence[str]) -> tuple[Labels, tuple[str, ...]]:
    """Parses a column of a text file to labels. Also returns the category names of a categorical factor."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(cell, len(numbers)) for cell in cells], dtype=np.int64)
    try:
        labels = Labels.from_text(name, list(numbers), places)
    except CodesError as error:
        raise DataError(str(error)) from None
    words = () if labels.ordered else tuple(sorted(cell for cell in numbers if not is_missing(cell)))
    return ranked(labels), words


def is_label(name: str) -> bool:
    """Returns whether an array of this name contains factors or properties of factors."""
    return name in _TABLE or name.startswith(COLUMNS)


def labels_in(arrays: dict[str, np.ndarray], num_images: int) -> tuple[tuple[Labels, ...], tuple[Factor, ...]]:
    """Reads labels and factors from named arrays: either one table, or one array per factor."""
    try:
        given = _columns(arrays) if any(name.startswith(COLUMNS) for name in arrays) else _table_columns(arrays)
    except CodesError as error:
        raise DataError(str(error)) from None
    for labels in given:
        if len(labels.values) != num_images or labels.is_soft:
            raise DataError(
                f"The factor {labels.name!r} has shape {tuple(labels.values.shape)} for {num_images} images. Give one "
                "label per image."
            )
    found = tuple(map(ranked, given))
    return found, factor_table(found)


def _columns(arrays: dict[str, np.ndarray]) -> tuple[Labels, ...]:
    if "factors" in arrays:
        raise DataError("Got both a table `factors` and arrays of single factors. Remove one of the two.")
    names = arrays["factor_names"].tolist() if "factor_names" in arrays else None
    return in_order(columns_in(arrays), names)


def _table_columns(arrays: dict[str, np.ndarray]) -> tuple[Labels, ...]:
    if "factors" not in arrays:
        if stray := [name for name in _TABLE if name in arrays]:
            raise DataError(f"Got {stray[0]} without factors. Add factors, or remove {stray[0]}.")
        return ()
    table = arrays["factors"]
    if table.dtype.kind == "f":
        with np.errstate(over="ignore"):  # a long double may be beyond a double
            table = table.astype(np.float64 if table.dtype.itemsize > 4 else np.float32)
    known = arrays.get("factor_known", np.ones(table.shape, dtype=np.bool_))
    num_factors = table.shape[-1] if table.ndim == 2 else 1
    ordered = arrays.get("factor_ordered", np.ones(num_factors, dtype=np.bool_))
    for name, flags, shape in (("factor_known", known, table.shape), ("factor_ordered", ordered, (num_factors,))):
        if flags.dtype != np.bool_ or flags.shape != shape:
            raise DataError(f"{name} has {flags.dtype} of shape {flags.shape}. Give booleans of shape {shape}.")
    found = as_factors(np.ma.masked_array(table, ~known), _names(arrays, num_factors))
    return tuple(replace(labels, ordered=bool(rank)) for labels, rank in zip(found, ordered, strict=True))


def _names(arrays: dict[str, np.ndarray], num_factors: int) -> list[str]:
    names: list[str] = arrays.get("factor_names", np.array([f"factor_{k}" for k in range(num_factors)])).tolist()
    if np.ndim(names) != 1 or len(names) != num_factors or len(set(names)) < num_factors:
        raise DataError(f"factor_names is {names}. Give a different name for each of the {num_factors} factors.")
    return names


def as_arrays(
    factors: Any, names: Sequence[str] | None, *, missing: Marks, unordered: Sequence[str]
) -> dict[str, np.ndarray]:
    """Converts factors with names or missing labels to named arrays."""
    try:
        labels = as_factors(factors, names, missing=missing, unordered=unordered)
    except CodesError as error:
        raise DataError(str(error)) from None
    if soft := [each.name for each in labels if each.is_soft]:
        raise DataError(f"The factor {soft[0]!r} has probabilities; expected values. Pass one value per image.")
    order = np.array([each.name for each in labels], dtype=np.str_)
    return {"factor_names": order} | {name: tensor.numpy() for name, tensor in factor_arrays(labels).items()}


def ordered_flags(arrays: dict[str, np.ndarray], unordered: Sequence[str]) -> np.ndarray:
    """Returns a mask of the ordered columns of a table, given the names of unordered factors."""
    names = _names(arrays, arrays["factors"].shape[-1] if arrays["factors"].ndim == 2 else 1)
    chosen = [unordered] if isinstance(unordered, str) else list(unordered)
    for name in chosen:
        if name not in names:
            raise DataError(f"unordered contains an unknown factor {name!r}. {suggestion(str(name), names)}")
    return np.array([name not in chosen for name in names], dtype=np.bool_)


def probabilities_in(arrays: dict[str, np.ndarray], num_images: int) -> Float32[np.ndarray, " image"] | None:
    """Reads the weights of the images, normalized to sum to one. Returns None without weights."""
    if "weights" not in arrays:
        return None
    weights = arrays["weights"]
    if weights.shape != (num_images,) or weights.dtype.kind not in "iuf":
        raise DataError(
            f"weights has {weights.dtype} of shape {weights.shape}. Give one number for each of {num_images} images."
        )
    if not np.isfinite(weights).all() or weights.min() < 0 or weights.max() <= 0:
        raise DataError(
            f"weights has values from {weights.min():g} to {weights.max():g}; expected finite numbers >= 0, not all 0. "
            "Correct the weights."
        )
    shares = weights / weights.max()  # before the sum, so that the sum cannot overflow
    return (shares / shares.sum(dtype=np.float64)).astype(np.float32)
