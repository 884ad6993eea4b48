"""Codes as columns of a pandas DataFrame."""

from typing import Any

import numpy as np

from unbraid.codes.codes import Codes
from unbraid.codes.labels import Labels
from unbraid.table import data_frame


def frame_of(codes: Codes) -> Any:
    """Returns a row for each image: the columns `mean_0`, ..., `std_0`, ... where they are known, `probability_3_0` for
    category 0 of latent 3, `weight`, and the factors under their own names.
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


def _of_factor(labels: Labels) -> dict[str, Any]:
    """Returns the column of a factor, with NaN where it is not known; of soft labels, a column for each value."""
    known, values = labels.is_known.cpu().numpy(), labels.values.cpu().numpy()
    if labels.is_soft:
        return {f"{labels.name}_{place}": np.where(known, column, np.nan) for place, column in enumerate(values.T)}
    return {labels.name: values if known.all() else np.where(known, values, np.nan)}
