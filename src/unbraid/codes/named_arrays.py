"""Codes as arrays by name, for .npz and .safetensors files.

| array | shape | |
|---|---|---|
| `mean`, `std` (or `log_var`) | image by latent | |
| `covariance` | image by latent by latent | |
| `samples` | image by latent, or draw by image by latent | |
| `probabilities_0`, ... | image by category | one table for each discrete latent |
| `group_0`, ... | latent | the latent indices of the group |
| `weights` | image | |
| `factor:NAME` | image, or image by value | integers, floats (a continuous factor), strings or soft labels |
| `category:NAME` | image, or image by value | integers, strings or soft labels of a categorical factor |
| `known:NAME` | image | False for missing labels; missing floats may be NaN instead |
| `factor_names` | factor | the order of the factors; a JSON list in the metadata of a .safetensors file |
| `factors` | image by factor | all factors as one table, with the names `factor_names` |
| `prior_mean`, ... | | the tensors of `LatentPrior.tensors` with the prefix `prior_` |

Other arrays are ignored with a warning.
"""

import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from unbraid._internal.arrays import as_tensor, numbered, shown
from unbraid._internal.names import suggestion
from unbraid.codes.codes import Codes
from unbraid.codes.conversions import CodesOptions
from unbraid.codes.labels import Labels
from unbraid.codes.latent_prior import ARRAYS as _PRIOR_ARRAYS
from unbraid.codes.latent_prior import PROBABILITIES as _TABLE
from unbraid.errors import CodesError

LOG_VAR, FACTOR_NAMES, FILES = "log_var", "factor_names", "files"
"""`files` are the file names of the images, written by `unbraid encode` and ignored when codes are read."""

FACTOR, CATEGORY, KNOWN = COLUMNS = ("factor:", "category:", "known:")
"""Prefixes of arrays with one factor."""

_FIELDS = ("mean", "std", "covariance", "samples", "weights")
_GROUP, _PRIOR, _FACTORS = "group_", "prior_", "factors"
_NAMES = {*_FIELDS, LOG_VAR, _FACTORS, *(f"{_PRIOR}{name}" for name in _PRIOR_ARRAYS)}
_PREFIXES = (_TABLE, _GROUP, FACTOR, CATEGORY, KNOWN, f"{_PRIOR}{_TABLE}")

log = logging.getLogger(__name__)


def read_among(names: Iterable[str], path: Path) -> list[str]:
    """Returns the names of the supported arrays in a file, and logs a warning about other arrays."""
    found = list(names)
    read = [name for name in found if name in _NAMES or name.startswith(_PREFIXES)]
    if others := [name for name in found if name not in (*read, FACTOR_NAMES, FILES)]:
        log.warning(
            "%s contains the unknown arrays %s, which are ignored. %s",
            path,
            shown(others, most=9),
            suggestion(others[0], [*_NAMES, f"{_GROUP}0"]),
        )
    return read


def to_arrays(codes: Codes) -> dict[str, Tensor]:
    """Returns all fields as tensors on the CPU, without the order of the factors.

    Value indices from 0 to 255 are stored as bytes, and missing floats as NaN.
    """
    arrays = {name: getattr(codes, name) for name in _FIELDS}
    arrays |= {f"{_TABLE}{number}": table for number, table in enumerate(codes.probabilities)}
    arrays |= {f"{_GROUP}{number}": torch.tensor(group, device="cpu") for number, group in enumerate(codes.groups)}
    arrays |= factor_arrays(codes.factors)
    if codes.prior is not None:
        arrays |= {f"{_PRIOR}{name}": tensor for name, tensor in codes.prior.tensors().items()}
    return {name: tensor.cpu() for name, tensor in arrays.items() if tensor is not None}


def factor_arrays(factors: Iterable[Labels]) -> dict[str, Tensor]:
    """Returns factors as tensors by name."""
    arrays = {f"{FACTOR if labels.ordered else CATEGORY}{labels.name}": _written(labels) for labels in factors}
    masks = {f"{KNOWN}{labels.name}": labels.known for labels in factors if not labels.values.is_floating_point()}
    return arrays | {name: known for name, known in masks.items() if known is not None}


def from_arrays(arrays: Mapping[str, Any], factor_names: Any = None) -> Codes:
    """Creates codes from arrays by name. The arrays are checked, because another program may have written them."""
    if not any(name in ("mean", "samples") or name.startswith(_TABLE) for name in arrays):
        raise CodesError(
            f"The file has {shown(list(arrays), most=20) or 'no arrays of codes'}; expected an array 'mean' (images by "
            "latents) or 'samples'. Save the means of the posteriors as 'mean'."
        )
    if factor_names is not None and not (
        isinstance(factor_names, list) and all(isinstance(name, str) for name in factor_names)
    ):
        raise CodesError(f"factor_names is {repr(factor_names)[:80]}; expected a list of strings. Save one per factor.")
    columns = columns_in(arrays)
    if columns and _FACTORS in arrays:
        raise CodesError(f"The file has both {_FACTORS} and {FACTOR}NAME; expected one of them. Remove {_FACTORS}.")
    prior = {name.removeprefix(_PRIOR): array for name, array in arrays.items() if name.startswith(_PRIOR)}
    return Codes.from_arrays(
        **{name: arrays.get(name) for name in (*_FIELDS, LOG_VAR) if name != "covariance"},
        probabilities=numbered(arrays, _TABLE),
        factors=in_order(columns, factor_names) if columns else arrays.get(_FACTORS),
        options=CodesOptions(
            factor_names=None if columns else factor_names,
            missing=math.nan,
            covariance=arrays.get("covariance"),
            groups=[as_tensor(_GROUP, group).tolist() for group in numbered(arrays, _GROUP)],
            prior=prior or None,
        ),
    )


def _written(labels: Labels) -> Tensor:
    if labels.values.is_floating_point():
        return torch.where(labels.is_known[:, None] if labels.is_soft else labels.is_known, labels.values, math.nan)
    values = torch.where(labels.is_known, labels.values, 0)
    return values.to(torch.uint8 if 0 <= int(values.min()) <= int(values.max()) < 256 else torch.int64)


def columns_in(arrays: Mapping[str, Any]) -> dict[str, Labels]:
    """Returns the factors stored as separate arrays, by name."""
    found: dict[str, Labels] = {}
    for kind in (FACTOR, CATEGORY):
        for name in [name.removeprefix(kind) for name in arrays if name.startswith(kind)]:
            if name in found:
                raise CodesError(f"The file has both {FACTOR}{name} and {CATEGORY}{name}; expected one. Remove one.")
            labels = Labels.from_column(name, arrays[f"{kind}{name}"], missing=math.nan)
            found[name] = replace(labels, ordered=False) if kind == CATEGORY else labels
    for name in [name.removeprefix(KNOWN) for name in arrays if name.startswith(KNOWN)]:
        flags = as_tensor(f"{KNOWN}{name}", arrays[f"{KNOWN}{name}"])
        if name not in found or flags.dtype != torch.bool or flags.shape != found[name].values.shape[:1]:
            raise CodesError(
                f"{KNOWN}{name} is {flags.dtype} of shape {tuple(flags.shape)}; expected booleans, one for each label "
                f"of {FACTOR}{name}. Save both arrays with the same length."
            )
        labels = found[name]
        found[name] = replace(labels, known=flags if labels.known is None else flags & labels.known)
    return found


def in_order(columns: Mapping[str, Labels], names: list[str] | None) -> tuple[Labels, ...]:
    """Sorts the columns in the order of the names, or keeps their order without names."""
    if names is not None and sorted(names) != sorted(columns):
        raise CodesError(
            f"factor_names is {repr(names)[:80]}; expected the names of the columns, {shown(list(columns), most=9)}. "
            "List each column once."
        )
    return tuple(columns[name] for name in names or columns)
