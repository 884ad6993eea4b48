"""Codes as columns of a pandas DataFrame, and back."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid._internal.table import data_frame
from unbraid.codes.codes import Codes
from unbraid.codes.conversions import CodesOptions
from unbraid.codes.labels import Labels, Marks
from unbraid.codes.named_arrays import CATEGORY, FACTOR
from unbraid.errors import CodesError

_NUMBERED = re.compile(r"(mean|std|log_var|sample)_(\d+)|probability_(\d+)_(\d+)")


def frame_of(codes: Codes) -> Any:
    """Returns a row for each image.

    The columns are `mean_0`, ..., `std_0`, ... where they are known, `probability_3_0` for category 0 of latent 3,
    `weight`, and the factors under their names.
    """
    columns: dict[str, Any] = {}
    for kind, values in (("mean", codes.mean), ("std", codes.marginal_std)):
        if values is not None:
            columns |= {f"{kind}_{latent}": column for latent, column in enumerate(values.T.cpu().numpy())}
    for latent, table in enumerate(codes.probabilities, start=codes.mean.shape[1]):
        columns |= {f"probability_{latent}_{c}": column for c, column in enumerate(table.T.cpu().numpy())}
    if codes.weights is not None:
        columns["weight"] = codes.weights.cpu().numpy()
    for labels in codes.factors:
        for name, column in _of_factor(labels).items():
            columns[f"factor:{name}" if name in columns else name] = column
    return data_frame(columns)


def codes_of(frame: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> Codes:
    """Returns the codes in a DataFrame with the columns of `frame_of` or of a .csv. Every other column is a factor."""
    if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
        raise CodesError(f"Codes were given as {type(frame).__name__}; expected a pandas DataFrame.")
    names = [str(name) for name in frame.columns]
    tables = {
        kind: _numbered(frame, [name for name in names if re.fullmatch(rf"{kind}_\d+", name)])
        for kind in ("mean", "std", "log_var", "sample")
    }
    if tables["mean"] is None and tables["sample"] is None and all(_latent_of(name) is None for name in names):
        raise CodesError(
            f"The DataFrame has the columns {', '.join(names[:8]) or 'none'}; expected mean_0, mean_1, ..., and "
            "std_0, ... where they are known. Codes.from_arrays takes codes in other columns."
        )
    latents = sorted({latent for name in names if (latent := _latent_of(name)) is not None})
    factors = [name for name in names if not _NUMBERED.fullmatch(name) and name != "weight"]
    plain = {name: name.removeprefix(FACTOR).removeprefix(CATEGORY) for name in factors}
    categories = [plain[name] for name in factors if name.startswith(CATEGORY)]
    return Codes.from_arrays(
        tables["mean"],
        tables["std"],
        log_var=tables["log_var"],
        samples=tables["sample"],
        probabilities=[_numbered(frame, [name for name in names if _latent_of(name) == each]) for each in latents],
        factors=frame[factors].rename(columns=plain) if factors else None,
        weights=frame["weight"].to_numpy() if "weight" in names else None,
        options=CodesOptions(missing=missing, unordered=(*unordered, *categories)),
    )


def _latent_of(name: str) -> int | None:
    """Returns the discrete latent of a column of probabilities; None for other columns."""
    found = re.fullmatch(r"probability_(\d+)_\d+", name)
    return int(found[1]) if found else None


def _numbered(frame: Any, names: list[str]) -> np.ndarray | None:
    """Returns these columns side by side, in the order of the numbers at their ends."""
    if not names:
        return None
    numbers = {int(name.rpartition("_")[2]): name for name in names}
    if sorted(numbers) != list(range(len(names))):
        kind = names[0].rpartition("_")[0]
        raise CodesError(f"The columns {kind}_* are numbered {sorted(numbers)}. Number them from 0, without gaps.")
    return np.column_stack([frame[numbers[number]].to_numpy() for number in range(len(names))])


def _of_factor(labels: Labels) -> dict[str, Any]:
    """Returns the column of a factor by its name, or a column for each value of soft labels.

    Values of a categorical factor are pandas categories. Missing labels are NaN, or NA among whole numbers.
    """
    import pandas as pd

    known, values = labels.is_known.cpu().numpy(), labels.values.cpu().numpy()
    if labels.is_soft:
        return {f"{labels.name}_{place}": np.where(known, column, np.nan) for place, column in enumerate(values.T)}
    if labels.is_continuous:
        return {labels.name: values if known.all() else np.where(known, values, np.nan)}
    whole = values if known.all() else pd.array(np.where(known, values, 0), dtype="Int64")
    if not known.all():
        whole[~known] = pd.NA
    return {labels.name: whole if labels.ordered else pd.Categorical(whole)}
