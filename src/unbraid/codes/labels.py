"""Labels: the values of one factor, with a mask of those that are missing."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from unbraid._internal.arrays import as_array, as_tensor, same_content, shown
from unbraid.errors import CodesError

# What marks a missing label: a number (NaN in continuous factors), or a word.
Missing = int | float | str | None
# The same mark in all factors, or one by the name of the factor.
Marks = Missing | Mapping[str, Missing]


@final
@dataclass(frozen=True, eq=False)
class Labels:
    """The values of one factor, image by image.

    `values` are value indices (integers: a discrete factor), floats (a continuous factor), or probabilities p(y | x)
    over the values (two-dimensional: soft labels). `known` is False where the label is missing, and `values` is not
    read there. `ordered` is False for categorical (unordered) values.
    """

    name: str
    values: Int[Tensor, " image"] | Float[Tensor, " image"] | Float[Tensor, "image value"]
    known: Bool[Tensor, " image"] | None = None
    ordered: bool = True

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_values(self.name, self.values, self.known)
        if self.values.requires_grad:
            object.__setattr__(self, "values", self.values.detach())
        if self.known is not None and self.known.shape != self.values.shape[:1]:
            raise CodesError(
                f"Factor {self.name!r} has {len(self.values)} labels and `known` has shape {tuple(self.known.shape)}; "
                "give one flag a label."
            )
        _check_finite(self.name, self.values, self.known)
        given = self.values if self.known is None else self.values[self.known]
        if self.is_soft and bool((given < 0).any() | ((given.double().sum(dim=1) - 1).abs() > 1e-4).any()):
            raise CodesError(
                f"Factor {self.name!r} has soft labels that are negative or do not sum to 1; give p(y | x), one row "
                "an image."
            )

    @classmethod
    def from_column(
        cls, name: str, column: Any, *, missing: Missing = None, device: torch.device | str | None = None
    ) -> "Labels":
        """Returns labels from a column of integers, floats or words, or from a table of probabilities p(y | x).

        Words become value indices in alphabetical order, and the factor is unordered. `missing` marks missing labels:
        NaN in a column of floats (or anywhere in a row of probabilities), a number in a column of numbers, a word in a
        column of words. Masked entries of a numpy.ma array are missing too.
        """
        missing = checked_missing(missing)
        column, unmasked = _taken_apart(column, device)
        array = as_array(f"Factor {name!r}", column)
        if isinstance(array, np.ndarray) and array.dtype.kind in "US":
            return _of_words(name, array, missing, unmasked, device)
        values = as_tensor(f"Factor {name!r}", array)
        if values.ndim not in (1, 2) or (values.ndim == 2 and not values.is_floating_point()):
            raise CodesError(
                f"Factor {name!r} has shape {tuple(values.shape)}; expected one label an image, or p(y | x) as floats "
                "(images, values)."
            )
        values = values.to(device) if values.is_floating_point() else _as_int64(name, values.to(device))
        return cls(name, values, _both(_known(values, missing), unmasked))

    def __eq__(self, other: object) -> bool:
        """Returns whether name, order and known labels are the same."""
        return isinstance(other, Labels) and same_content(self._content(), other._content())

    __hash__ = None  # type: ignore[assignment]

    def _content(self) -> tuple[Any, ...]:
        is_known = self.is_known
        return self.name, self.ordered, is_known, self.values[is_known]

    def to(self, device: torch.device | str) -> "Labels":
        """Returns the same labels on another device."""
        return replace(self, values=self.values.to(device), known=None if self.known is None else self.known.to(device))

    def __getitem__(self, rows: Int[Tensor, " row"] | slice) -> "Labels":
        """Returns the labels of these images."""
        return replace(self, values=self.values[rows], known=None if self.known is None else self.known[rows])

    @property
    def is_known(self) -> Bool[Tensor, " image"]:
        """The mask `known`; True for every image if it is None."""
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
        """Returns the occurring values numbered from 0 in their order, -1 where missing; soft labels, 0 where missing.

        This is the form of a discrete factor in `unbraid.information`.
        """
        if self.is_continuous:
            raise CodesError(
                f"Factor {self.name!r} is continuous; expected a discrete one. Bin it first, or give its values as "
                "integers."
            )
        known = self.is_known
        if self.is_soft:
            return torch.where(known[:, None], self.values, 0)
        numbered = torch.full_like(self.values, -1, dtype=torch.int64)
        numbered[known] = _numbered(self.values[known].long())
        return numbered

    def one_vs_rest(self) -> "tuple[Labels, ...]":
        """Returns a binary attribute "NAME VALUE" for each value of a discrete factor.

        It is 1 where the label is that value, 0 where it is another. Missing labels stay missing.
        """
        if self.is_continuous or self.is_soft:
            kind = "continuous" if self.is_continuous else "soft"
            raise CodesError(
                f"Factor {self.name!r} is {kind}; one-vs-rest attributes need a discrete factor. Give value indices, "
                "as integers."
            )
        values = self.values[self.is_known].unique().tolist()
        return tuple(Labels(f"{self.name} {value}", (self.values == value).long(), self.known) for value in values)

    def binned(self, num_bins: int) -> "Labels":
        """Returns a continuous factor as value indices; other factors unchanged.

        Bins have equal width, from the least known label to the greatest.
        """
        if num_bins < 2:
            raise CodesError(
                f"num_bins is {num_bins}; with fewer than 2 bins factor {self.name!r} would not vary. Give at least 2."
            )
        if not self.is_continuous:
            return self
        # Halved, so that the distance of the extremes does not overflow.
        halves = self.values.double() / 2
        given = halves if self.known is None else halves[self.known]
        low, width = (
            (given.min(), given.max() - given.min()) if len(given) > 0 else (halves.new_zeros(()), halves.new_zeros(()))
        )
        places = (halves - low) / width * num_bins if float(width) > 0 else torch.zeros_like(halves)
        if self.known is not None:
            places = torch.where(self.known, places, 0)
        return replace(self, values=places.long().clamp(0, num_bins - 1))


def checked_missing(missing: Any) -> Missing:
    """Returns the mark of a missing label, or raises if it cannot be one."""
    if missing is None or isinstance(missing, str):
        return missing
    if not isinstance(missing, numbers.Real) or (
        isinstance(missing, numbers.Integral) and not -(2**63) <= int(missing) < 2**63
    ):
        raise CodesError(
            f"missing is {str(missing)[:40]}; expected the mark of a missing label: a number (of at most 64 bits), "
            "math.nan or a word."
        )
    return int(missing) if isinstance(missing, numbers.Integral) else float(missing)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise CodesError(f"A factor is named {name!r}; expected a word. Give each factor a name.")
    if not name.isprintable():
        raise CodesError(f"The factor name {name[:40]!r} holds control characters. Give a name that can be printed.")


def _check_values(name: str, values: Any, known: Any) -> None:
    if not isinstance(values, Tensor) or not (known is None or isinstance(known, Tensor)):
        raise CodesError(
            f"Factor {name!r} has labels or flags that are not tensors. Labels.from_column takes arrays and lists."
        )
    if values.ndim not in (1, 2) or (values.ndim == 2 and not values.is_floating_point()):
        raise CodesError(
            f"Factor {name!r} has shape {tuple(values.shape)}; expected one label an image, or p(y | x) as floats "
            "(images, values)."
        )
    as_tensor(f"Factor {name!r}", values)
    if known is not None and known.dtype != torch.bool:
        raise CodesError(f"`known` of factor {name!r} holds {known.dtype}; expected True or False for each label.")


def _check_finite(name: str, values: Tensor, known: Tensor | None) -> None:
    if not values.is_floating_point():
        return
    bad = ~values.isfinite()
    bad = bad.any(dim=1) if bad.ndim == 2 else bad
    rows = (bad if known is None else bad & known).nonzero()[:, 0].tolist()
    if rows:
        raise CodesError(
            f"Factor {name!r} has NaN or infinite labels in {len(rows)} rows ({shown(rows)}). If NaN marks a missing "
            "label, pass missing=math.nan, or set `known` to False."
        )


def _as_int64(name: str, values: Tensor) -> Int64[Tensor, " image"]:
    wide = values.to(torch.int64)
    if values.dtype == torch.uint64 and bool((wide < 0).any()):
        raise CodesError(
            f"Factor {name!r} has labels of 2**63 or more, beyond 64 bits with a sign. Number its values from 0: "
            "np.unique(labels, return_inverse=True)[1]."
        )
    return wide


def _taken_apart(column: Any, device: torch.device | str | None) -> tuple[Any, Bool[Tensor, " image"] | None]:
    """Returns the entries of a numpy.ma array, and the mask of rows without masked entries; None for all rows."""
    if not isinstance(column, np.ma.MaskedArray) or column.ndim == 0:
        return column, None
    masked = np.ma.getmaskarray(column).any(axis=tuple(range(1, column.ndim)))
    entries = column.filled("" if column.dtype.kind in "OSU" else 0)
    return entries, torch.from_numpy(~masked).to(device) if masked.any() else None


def _both(one: Tensor | None, other: Tensor | None) -> Bool[Tensor, " image"] | None:
    if one is None or other is None:
        return one if other is None else other
    return one & other


def _of_words(
    name: str, words: np.ndarray, missing: Missing, unmasked: Tensor | None, device: torch.device | str | None
) -> Labels:
    if words.ndim != 1:
        raise CodesError(f"Factor {name!r} has words of shape {words.shape}; expected one word an image.")
    distinct, numbers = np.unique(words, return_inverse=True)
    marked = isinstance(missing, str) and missing in distinct
    known = torch.from_numpy(distinct[numbers] != missing).to(device) if marked else None
    return Labels(name, torch.from_numpy(numbers).to(device), _both(known, unmasked), ordered=False)


def _known(values: Tensor, missing: Missing) -> Bool[Tensor, " image"] | None:
    if missing is None or isinstance(missing, str):
        return None
    marked = values.isnan() if math.isnan(missing) else values == missing
    if values.ndim == 2:
        marked = marked.any(dim=1)
    return ~marked if bool(marked.any()) else None


def _numbered(values: Int64[Tensor, " image"]) -> Int64[Tensor, " image"]:
    """Returns 0 for the least value that occurs, 1 for the next, and so on."""
    if len(values) == 0:
        return values
    places = values - values.min()
    num_places = int(places.max()) + 1
    # The distance of values at either end of the 64-bit integers overflows to a negative number.
    if num_places > 16 * len(values) or num_places < 1 or bool((places < 0).any()):
        return torch.unique(values, return_inverse=True)[1]
    # The same without sorting, which for all dSprites takes longer than the rest of a metric.
    occurs = torch.zeros(num_places, dtype=torch.int64, device=values.device).index_fill_(0, places, 1)
    return (occurs.cumsum(0) - 1)[places]
