"""Conversion between codes and named columns of DataFrames, .csv files (`csv_file`) and Hugging Face datasets."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unbraid._internal.arrays import numbered
from unbraid._internal.table import data_frame
from unbraid.codes.codes import Codes
from unbraid.codes.conversions import CodesOptions, is_frame
from unbraid.codes.labels import Labels, Marks
from unbraid.codes.latent_prior import PROBABILITIES
from unbraid.codes.named_arrays import CATEGORY, FACTOR
from unbraid.errors import CodesError

WEIGHT = "weight"
KINDS = ("mean", "std", "log_var", "sample")
"""Names of vectors, stored in columns `mean_0`, `mean_1`, ..., or in one Hugging Face column `mean`."""
_PROBABILITY = re.compile(r"probability_(\d+)_\d+")


def vectors_of(codes: Codes) -> dict[str, np.ndarray]:
    """Returns the means, the stds if known, and the first draw of each image if the codes have draws."""
    draw = None if codes.samples is None else codes.samples[0]
    found = {"mean": codes.mean, "std": codes.marginal_std, "sample": draw}
    return {name: table.cpu().numpy() for name, table in found.items() if table is not None}


def number_columns(codes: Codes) -> dict[str, np.ndarray]:
    """Returns the columns `mean_0`, `std_0`, `sample_0`, `probability_3_0` (category 0 of latent 3), `weight`, etc."""
    columns = {f"{kind}_{k}": column for kind, table in vectors_of(codes).items() for k, column in enumerate(table.T)}
    for latent, table in enumerate(codes.probabilities, start=codes.mean.shape[1]):
        columns |= {f"probability_{latent}_{c}": column for c, column in enumerate(table.T.cpu().numpy())}
    return columns if codes.weights is None else columns | {WEIGHT: codes.weights.cpu().numpy()}


def is_number_column(name: str) -> bool:
    """Returns whether `number_columns` uses the name."""
    kind, _, number = name.rpartition("_")
    return (kind in KINDS and number.isdecimal()) or name == WEIGHT or _PROBABILITY.fullmatch(name) is not None


def codes_of_columns(columns: Mapping[str, Any], factors: Any, options: CodesOptions | None = None) -> Codes:
    """Creates codes from columns named as in `number_columns`, and ignores other columns."""
    tables = {kind: _side_by_side(columns, f"{kind}_") for kind in KINDS}
    latents = sorted({int(found[1]) for name in columns if (found := _PROBABILITY.fullmatch(name))})
    return Codes.from_arrays(
        tables["mean"],
        tables["std"],
        log_var=tables["log_var"],
        samples=tables["sample"],
        probabilities=[_side_by_side(columns, f"probability_{latent}_") for latent in latents],
        factors=factors,
        weights=None if WEIGHT not in columns else np.asarray(columns[WEIGHT]),
        options=options,
    )


def _side_by_side(columns: Mapping[str, Any], prefix: str) -> np.ndarray | None:
    found = numbered(columns, prefix)
    return np.column_stack(list(map(np.asarray, found))) if found else None


def to_pandas(codes: Codes) -> Any:
    """Implements `Codes.to_pandas`."""
    columns: dict[str, Any] = number_columns(codes)
    for labels in codes.factors:
        for name, column in _pandas_columns(labels).items():
            columns[f"{FACTOR}{name}" if name in columns else name] = column
    return data_frame(columns)


def _pandas_columns(labels: Labels) -> dict[str, Any]:
    """Returns the column of a factor, or a column for each value of soft labels, by name.

    Values of a categorical factor are pandas categories. Missing labels are NaN in floats and NA in integers.
    """
    import pandas as pd

    known, values = labels.is_known.cpu().numpy(), labels.values.cpu().numpy()
    if labels.is_soft:
        return {f"{labels.name}_{place}": np.where(known, column, np.nan) for place, column in enumerate(values.T)}
    if labels.is_continuous:
        return {labels.name: np.where(known, values, np.nan)}
    whole = values if known.all() else pd.array(np.where(known, values, 0), dtype="Int64")
    if not known.all():
        whole[~known] = pd.NA
    return {labels.name: whole if labels.ordered else pd.Categorical(whole)}


def from_pandas(frame: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> Codes:
    """Implements `Codes.from_pandas`."""
    if not is_frame(frame):
        raise CodesError(
            f"frame is a {type(frame).__name__}; expected a pandas DataFrame. Use Codes.from_arrays for other types."
        )
    named = frame.set_axis([str(name) for name in frame.columns], axis=1)
    factors = [name for name in named.columns if not is_number_column(name)]
    numbers = {name: named[name] for name in named.columns if name not in factors}
    if not any(name.startswith(("mean_", "sample_", "probability_")) for name in numbers):
        raise CodesError(
            f"The DataFrame has the columns {', '.join(named.columns[:8]) or 'none'}; expected mean_0, mean_1, ..., "
            "and optionally std_0, ... Rename the columns, or use Codes.from_arrays."
        )
    plain = {name: name.removeprefix(FACTOR).removeprefix(CATEGORY) for name in factors}
    categories = [plain[name] for name in factors if name.startswith(CATEGORY)]
    return codes_of_columns(
        numbers,
        named[factors].rename(columns=plain) if factors else None,
        CodesOptions(missing=missing, unordered=(*unordered, *categories)),
    )


def datasets_library() -> Any:
    """Imports the module `datasets`. Raises an error with the installation command if the import fails."""
    try:
        import datasets
    except ImportError as error:
        raise CodesError(
            f"The package datasets cannot be imported ({error}). Run pip install 'unbraid[huggingface]'."
        ) from None
    return datasets


def to_hugging_face(codes: Codes) -> Any:
    """Implements `Codes.to_hugging_face`."""
    library = datasets_library()
    tables = vectors_of(codes)
    tables |= {f"{PROBABILITIES}{number}": table.cpu().numpy() for number, table in enumerate(codes.probabilities)}
    columns: dict[str, Any] = {name: table for name, table in tables.items() if table.shape[1]}
    features: dict[str, Any] = {
        name: library.Sequence(library.Value(str(table.dtype)), length=table.shape[1])
        for name, table in columns.items()
    }
    if codes.weights is not None:
        columns[WEIGHT], features[WEIGHT] = codes.weights.cpu().numpy(), library.Value("float64")
    for labels in codes.factors:
        name = f"{FACTOR}{labels.name}" if labels.name in columns else labels.name
        columns[name], features[name] = column_of(labels), feature_of(labels)
    return library.Dataset.from_dict(columns, features=library.Features(features))


def column_of(labels: Labels) -> list[Any]:
    """Returns the labels of a factor, with None for missing labels."""
    known, values = labels.is_known.tolist(), labels.values.tolist()
    return [value if is_known else None for value, is_known in zip(values, known, strict=True)]


def feature_of(labels: Labels, words: Sequence[str] = ()) -> Any:
    """Returns the `datasets` feature of a factor. `words` are the class names of a categorical factor."""
    library = datasets_library()
    if labels.is_soft:
        return library.Sequence(library.Value("float64"), length=labels.values.shape[1])
    if labels.is_continuous:
        return library.Value("float64")
    known = labels.values[labels.is_known]
    if labels.ordered or (len(known) > 0 and int(known.min()) < 0):
        return library.Value("int64")
    num_values = max(len(words), int(known.max()) + 1 if len(known) else 1)
    return library.ClassLabel(names=[*words, *map(str, range(len(words), num_values))])


def from_hugging_face(dataset: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> Codes:
    """Implements `Codes.from_hugging_face`.

    Class labels and strings are categorical factors, integers discrete factors, floats continuous factors, and vectors
    soft labels. None, NaN and the class -1 are missing labels.
    """
    library = datasets_library()
    if not isinstance(dataset, library.Dataset):
        raise CodesError(
            f"dataset is a {type(dataset).__name__}; expected a datasets.Dataset. Load one split without streaming."
        )
    # Plain Python values, independent of the format of the dataset.
    plain, features = dataset.with_format(None), dataset.features
    vectors = {name: _matrix(plain[name][:], name) for name in features if name in KINDS}
    tables = numbered({name: name for name in features}, PROBABILITIES)
    if not (tables or {"mean", "sample"} & set(vectors)):
        raise CodesError(
            f"The dataset has the columns {', '.join(features) or 'none'}; expected a column mean of vectors, and "
            "optionally std. Rename the columns with dataset.rename_column(...)."
        )
    factors = {name.removeprefix(FACTOR): name for name in features if name not in (*vectors, *tables, WEIGHT)}
    classes = [name for name, column in factors.items() if isinstance(features[column], library.ClassLabel)]
    return Codes.from_arrays(
        vectors.get("mean"),
        vectors.get("std"),
        log_var=vectors.get("log_var"),
        samples=vectors.get("sample"),
        probabilities=[_matrix(plain[name][:], name) for name in tables],
        factors={name: masked_labels(plain[column][:], is_class=name in classes) for name, column in factors.items()}
        or None,
        weights=np.array(plain[WEIGHT][:]) if WEIGHT in features else None,
        options=CodesOptions(missing=missing, unordered=(*unordered, *classes)),
    )


def _matrix(rows: Sequence[Any], name: str) -> np.ndarray:
    lengths = {len(row) if isinstance(row, list) else 0 for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise CodesError(
            f"The column {name!r} has rows of the lengths {sorted(lengths)[:9]}; expected one vector of equal length "
            "per row. Fix or drop the column."
        )
    return np.array(rows)


def masked_labels(rows: Sequence[Any], *, is_class: bool) -> np.ma.MaskedArray[Any, Any]:
    """Converts a column of labels to a masked array, with missing labels masked."""
    absent = np.array([row is None or row != row or (is_class and row == -1) for row in rows])
    # The filler has the type of the known labels, so that the dtype of the column does not change.
    present = next((row for row, is_absent in zip(rows, absent, strict=True) if not is_absent), 0)
    filler = [0.0] * len(present) if isinstance(present, list) else type(present)()
    filled = np.array([filler if is_absent else row for row, is_absent in zip(rows, absent, strict=True)])
    return np.ma.masked_array(filled, np.broadcast_to(absent.reshape(-1, *[1] * (filled.ndim - 1)), filled.shape))
