"""Labels of one factor, with a mask of known labels."""

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from unbraid._internal.arrays import as_array, as_tensor, ranks, same_content, shown
from unbraid._internal.short_repr import short_repr
from unbraid.errors import CodesError

# Value that marks a missing label: a number (NaN in continuous factors) or a string.
Missing = int | float | str | None
# One value for all factors, or a mapping from factor names to values.
Marks = Missing | Mapping[str, Missing]

_MAX_SHOWN = 40  # characters of quoted text in an error message
# The outputs of printf for NaN on different systems.
_MISSING = re.compile(r"([+-]?nan(\([^()]*\))?)?", re.IGNORECASE | re.ASCII)
# Stricter than `int`, which accepts 1_000, whitespace and the digits of every script, and would merge different labels.
_WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity)|nan", re.IGNORECASE | re.ASCII
)


@final
@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of one factor for each image.

    `values` are value indices (integers) of a discrete factor, floats of a continuous factor, or a table of
    probabilities p(y | x), called soft labels. `known` is False for missing labels; their entries of `values` are
    ignored. `ordered` is False for categorical (unordered) values.
    """

    name: str
    values: Int[Tensor, " image"] | Float[Tensor, " image"] | Float[Tensor, "image value"]
    known: Bool[Tensor, " image"] | None = None
    ordered: bool = True

    __repr__ = short_repr

    def __post_init__(self) -> None:
        name: Any = self.name
        values: Any = self.values
        known: Any = self.known
        if not isinstance(name, str) or not name.strip():
            raise CodesError(f"A factor has the name {name!r}; expected a non-empty string. Name each factor.")
        if not name.isprintable():
            raise CodesError(
                f"The factor name {name[:40]!r} contains control characters; expected a printable name. Rename it."
            )
        if not isinstance(values, Tensor) or not (known is None or isinstance(known, Tensor)):
            raise CodesError(
                f"Factor {name!r} has values of type {type(values).__name__} and known of type {type(known).__name__}; "
                "expected tensors. Use Labels.from_column for arrays and lists."
            )
        object.__setattr__(self, "values", as_tensor(f"Factor {name!r}", values))
        if values.ndim not in (1, 2) or (values.ndim == 2 and not values.is_floating_point()):
            raise CodesError(
                f"Factor {name!r} has {values.dtype} of shape {tuple(values.shape)}; expected (images,), or floats "
                "(images, values). Pass one label per image, or p(y | x)."
            )
        if known is not None and (known.dtype != torch.bool or known.shape != values.shape[:1]):
            raise CodesError(
                f"`known` of factor {name!r} is {known.dtype} of shape {tuple(known.shape)}; expected booleans of "
                f"shape ({len(values)},). Pass True or False for each label."
            )
        if not values.is_floating_point():
            return
        bad = self.is_known & ~(values if values.ndim == 1 else values.sum(dim=1)).isfinite()
        if rows := bad.nonzero()[:, 0].tolist():
            raise CodesError(
                f"Factor {name!r} has NaN or infinite labels in {len(rows)} rows ({shown(rows)}); expected finite "
                "labels. If NaN marks missing labels, pass missing=math.nan."
            )
        given = values[self.is_known]
        if self.is_soft and bool((given < 0).any() | ((given.double().sum(dim=1) - 1).abs() > 1e-4).any()):
            raise CodesError(
                f"Factor {name!r} has soft labels that are negative or do not sum to 1; expected probabilities. Pass "
                "p(y | x) with one row per image."
            )

    @classmethod
    def from_column(
        cls, name: str, column: Any, *, missing: Missing = None, device: torch.device | str | None = None
    ) -> "Labels":
        """Creates labels from a column of integers, floats or strings, or from a table of probabilities p(y | x).

        Strings become value indices in alphabetical order, and the factor is unordered. `missing` is the value that
        marks missing labels: NaN for floats and probabilities, a number for numbers, a string for strings. Masked
        entries of a numpy.ma array and missing entries of a pandas column are also missing labels. Categories of pandas
        become value indices, ordered if the pandas dtype is ordered.
        """
        is_categorical = hasattr(column, "cat")
        missing = None if is_categorical else checked_missing(missing)
        ordered = bool(column.cat.ordered) if is_categorical else True
        column, unmasked = _without_mask(_of_pandas(name, column) if hasattr(column, "isna") else column)
        array = as_array(f"Factor {name!r}", column)
        if isinstance(array, np.ndarray) and array.dtype.kind in "US":
            words, places = np.unique(array, return_inverse=True)
            values, ordered = torch.from_numpy(places), False
            marked = torch.from_numpy(words == missing)[values] if isinstance(missing, str) else None
        else:
            values = as_tensor(f"Factor {name!r}", array)
            values = values if values.is_floating_point() else _as_int64(name, values)
            marked = None
            if isinstance(missing, (int, float)):
                marked = values.isnan() if math.isnan(missing) else values == missing
                marked = marked.any(dim=1) if values.ndim == 2 else marked
        if marked is not None and bool(marked.any()):
            unmasked = ~marked if unmasked is None else unmasked.to(marked.device) & ~marked
        labels = cls(name, values, None if unmasked is None else unmasked.to(values.device), ordered)
        return labels if device is None else labels.to(device)

    @classmethod
    def from_text(
        cls, name: str, words: Sequence[str], places: Int64[np.ndarray, " image"], *, ordered: bool = True
    ) -> "Labels":
        """Creates labels from the index of each image, in `places`, into a list of distinct words.

        If all words are integers, the words are value indices. If all words are numbers, the factor is continuous.
        Otherwise the factor is categorical, and words are numbered in alphabetical order. Empty words and nan are
        missing labels. Without `ordered`, the factor is always categorical.
        """
        missing = np.array([is_missing(word) for word in words])
        known = None if not missing.any() else torch.from_numpy(~missing[places])
        given = [word for word, gone in zip(words, missing, strict=True) if not gone]
        if padded := [word for word in given if word != word.strip() and NUMBER.fullmatch(word.strip())]:
            raise CodesError(
                f"Factor {name!r} has the label {quoted(padded[0])}; expected a number without whitespace. Remove the "
                "whitespace."
            )
        values = np.zeros(len(words), dtype=np.int64)
        if all(map(_WHOLE.fullmatch, given)):
            values[~missing] = _whole_numbers(name, given)
        elif ordered and all(map(NUMBER.fullmatch, given)):
            values = values.astype(np.float64)
            values[~missing] = list(map(float, given))
        else:
            # Alphabetical order does not depend on the order of the rows.
            values, ordered = np.unique(np.array(words, dtype=object), return_inverse=True)[1], False
        return cls(name, torch.from_numpy(values[places]), known, ordered)

    def __eq__(self, other: object) -> bool:
        """Returns whether name, order and known labels are equal."""
        return isinstance(other, Labels) and same_content(self._content(), other._content())

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> tuple[Any, ...]:
        is_known = self.is_known
        return self.name, self.ordered, is_known, self.values[is_known]

    def to(self, device: torch.device | str) -> "Labels":
        """Moves the labels to a device."""
        return replace(self, values=self.values.to(device), known=None if self.known is None else self.known.to(device))

    def __getitem__(self, rows: Int[Tensor, " row"] | slice) -> "Labels":
        """Selects images."""
        return replace(self, values=self.values[rows], known=None if self.known is None else self.known[rows])

    @property
    def is_known(self) -> Bool[Tensor, " image"]:
        """Mask of the known labels; True for all images if `known` is None."""
        if self.known is not None:
            return self.known
        return torch.ones(len(self.values), dtype=torch.bool, device=self.values.device)

    @property
    def is_soft(self) -> bool:
        return self.values.ndim == 2

    @property
    def is_continuous(self) -> bool:
        return self.values.ndim == 1 and self.values.is_floating_point()

    def assignment(self) -> Int64[Tensor, " image"] | Float[Tensor, "image value"]:
        """Returns the input of `unbraid.information`: ranks of the occurring values, or soft labels.

        Missing labels have the rank -1, or a row of zeros.
        """
        if self.is_continuous:
            raise CodesError(
                f"Factor {self.name!r} is continuous; expected a discrete factor. Bin the factor with "
                "codes.with_binned_factors(), or pass integers."
            )
        known = self.is_known
        if self.is_soft:
            return torch.where(known[:, None], self.values, 0)
        numbered = torch.full_like(self.values, -1, dtype=torch.int64)
        numbered[known] = ranks(self.values[known].long())
        return numbered

    def one_vs_rest(self) -> "tuple[Labels, ...]":
        """Returns a binary attribute "NAME VALUE" for each value of a discrete factor.

        An attribute is 1 for images with its value and 0 for other images. Missing labels stay missing.
        """
        if self.is_continuous or self.is_soft:
            kind = "continuous" if self.is_continuous else "soft"
            raise CodesError(
                f"Factor {self.name!r} is {kind}; expected a discrete factor for one-vs-rest attributes. Pass integers "
                "as its values."
            )
        values = self.values[self.is_known].unique().tolist()
        return tuple(Labels(f"{self.name} {value}", (self.values == value).long(), self.known) for value in values)

    def binned(self, num_bins: int) -> "Labels":
        """Bins a continuous factor into value indices, and returns other factors unchanged.

        Bins have equal width, from the smallest to the largest known label.
        """
        if num_bins < 2:
            raise CodesError(
                f"num_bins is {num_bins}; expected at least 2, so that factor {self.name!r} varies. Pass e.g. 10."
            )
        if not self.is_continuous:
            return self
        # Halved, so that the difference of the extremes does not overflow.
        halves = self.values.double() / 2
        given = halves[self.is_known] if bool(self.is_known.any()) else halves.new_zeros(1)
        low, width = given.min(), given.max() - given.min()
        places = (halves - low) / width * num_bins if float(width) > 0 else torch.zeros_like(halves)
        places = torch.where(self.is_known, places, 0)
        return replace(self, values=places.long().clamp(0, num_bins - 1))


def checked_missing(missing: Any) -> Missing:
    """Returns the value that marks missing labels. Raises an error if the type is not supported."""
    if missing is None or isinstance(missing, str):
        return missing
    if not isinstance(missing, numbers.Real) or (
        isinstance(missing, numbers.Integral) and not -(2**63) <= int(missing) < 2**63
    ):
        raise CodesError(
            f"missing is {str(missing)[:40]}; expected a number of at most 64 bits, math.nan or a string. Pass the "
            "value that marks a missing label."
        )
    return int(missing) if isinstance(missing, numbers.Integral) else float(missing)


def is_missing(word: str) -> bool:
    """Returns whether a word of a text file is a missing label: empty or nan."""
    return _MISSING.fullmatch(word.strip()) is not None


def quoted(text: str) -> str:
    """Shortens and quotes text for an error message."""
    return repr(text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "...")


def _as_int64(name: str, values: Tensor) -> Tensor:
    wide = values.to(torch.int64)
    if values.dtype == torch.uint64 and bool((wide < 0).any()):
        raise CodesError(
            f"Factor {name!r} has labels >= 2**63; expected signed 64-bit integers. Number the values from 0 with "
            "np.unique(labels, return_inverse=True)[1]."
        )
    return wide


def _without_mask(column: Any) -> tuple[Any, Bool[Tensor, " image"] | None]:
    """Returns the entries of a numpy.ma array and a mask of the rows without masked entries (None for all rows)."""
    if not isinstance(column, np.ma.MaskedArray) or column.ndim == 0:
        return column, None
    masked = np.ma.getmaskarray(column).any(axis=tuple(range(1, column.ndim)))
    entries = column.filled("" if column.dtype.kind in "OSU" else 0)
    return entries, torch.from_numpy(~masked) if masked.any() else None


def _of_pandas(name: str, column: Any) -> np.ma.MaskedArray[Any, Any]:
    """Converts a DataFrame column to an array of numbers or strings with missing entries masked."""
    absent, kind = np.asarray(column.isna(), dtype=np.bool_), str(column.dtype)
    if hasattr(column, "cat"):
        found = np.asarray(column.cat.codes, dtype=np.int64)
    elif kind in ("object", "str") or kind.startswith("string"):
        words = np.where(absent, "", column.astype(object))
        if not all(isinstance(word, str) for word in words):
            raise CodesError(
                f"The column {name!r} has objects of several types; expected one. Pass numbers or strings."
            )
        found = words.astype(np.str_)
    elif (letter := getattr(column.dtype, "kind", "O")) in "biuf":
        found = np.asarray(column.fillna(0), dtype={"b": np.bool_, "f": np.float64}.get(letter, np.int64))
    else:
        raise CodesError(f"The column {name!r} has the dtype {kind}; expected numbers or strings. Convert or drop it.")
    return np.ma.masked_array(found, absent)


def _whole_numbers(name: str, words: list[str]) -> list[int]:
    numbers = []
    for word in words:
        # A 64-bit integer has at most 19 digits, and Python converts at most 4300.
        digits = word.lstrip("+-").lstrip("0")[:20]
        numbers.append(int(digits or "0") * (-1 if word.startswith("-") else 1))
        if not -(2**63) <= numbers[-1] < 2**63:
            raise CodesError(
                f"Factor {name!r} has the label {quoted(word)}; expected integers of at most 64 bits. Number the "
                "values from 0, or add a letter to make them strings."
            )
    return numbers
