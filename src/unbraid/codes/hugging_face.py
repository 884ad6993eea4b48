"""Codes as a data set of the Hugging Face library `datasets`, and back."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unbraid.codes.codes import Codes
from unbraid.codes.conversions import CodesOptions
from unbraid.codes.labels import Labels, Marks
from unbraid.codes.latent_prior import PROBABILITIES
from unbraid.codes.named_arrays import FACTOR
from unbraid.errors import CodesError

_VECTORS = ("mean", "std", "log_var", "sample")


def datasets_library() -> Any:
    """Returns the module `datasets`. Raises an error with the command that installs it."""
    try:
        import datasets
    except ImportError as error:
        raise CodesError(
            f"The package datasets is needed ({error}). Install it: pip install 'unbraid[huggingface]'."
        ) from None
    return datasets


def dataset_of(codes: Codes) -> Any:
    """Returns a data set with a row for each image.

    The columns are `mean`, `std` where it is known, `sample` (the first draw) where only draws are,
    `probabilities_0`, ... of discrete latents, `weight`, and the factors under their names.
    """
    library = datasets_library()
    draw = None if codes.samples is None else codes.samples[0]
    vectors = {"mean": codes.mean, "std": codes.marginal_std, "sample": draw}
    vectors |= {f"{PROBABILITIES}{number}": table for number, table in enumerate(codes.probabilities)}
    columns: dict[str, Any] = {}
    features: dict[str, Any] = {}
    for name, table in vectors.items():
        if table is not None and table.shape[1]:
            columns[name] = table.cpu().numpy()
            features[name] = library.Sequence(library.Value(str(columns[name].dtype)), length=table.shape[1])
    if codes.weights is not None:
        columns["weight"], features["weight"] = codes.weights.cpu().numpy(), library.Value("float64")
    for labels in codes.factors:
        name = f"{FACTOR}{labels.name}" if labels.name in columns else labels.name
        columns[name], features[name] = column_of(labels), feature_of(labels)
    return library.Dataset.from_dict(columns, features=library.Features(features))


def column_of(labels: Labels) -> list[Any]:
    """Returns the labels of a factor, None where they are not known."""
    known, values = labels.is_known.tolist(), labels.values.tolist()
    return [value if is_known else None for value, is_known in zip(values, known, strict=True)]


def feature_of(labels: Labels, words: Sequence[str] = ()) -> Any:
    """Returns the type of the column of a factor: class labels with the names `words` if it is categorical."""
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


def codes_of(dataset: Any, *, missing: Marks = None, unordered: Sequence[str] = ()) -> Codes:
    """Returns the codes in a data set with the columns of `dataset_of`.

    Class labels and words are categorical factors, whole numbers discrete ones, decimals continuous ones, vectors soft
    labels; None, NaN and the class -1 are missing.
    """
    library = datasets_library()
    if not isinstance(dataset, library.Dataset):
        raise CodesError(
            f"Codes were given as {type(dataset).__name__}; expected a datasets.Dataset: one split, not streamed."
        )
    names = list(dataset.features)
    tables = [name for name in names if name.startswith(PROBABILITIES)]
    if not {"mean", "sample", *tables} & set(names):
        raise CodesError(
            f"The data set has the columns {', '.join(names) or 'none'}; expected vectors called mean, and std where "
            "it is known. Rename them: dataset.rename_column(...)."
        )
    # As they are stored, in whatever format the data set returns them.
    plain = dataset.with_format(None)
    found = {name: _vectors(plain[name][:], name) for name in names if name in _VECTORS or name in tables}
    factors = [name for name in names if name not in found and name != "weight"]
    bare = {name: name.removeprefix(FACTOR) for name in factors}
    classes = [bare[name] for name in factors if isinstance(dataset.features[name], library.ClassLabel)]
    return Codes.from_arrays(
        found.get("mean"),
        found.get("std"),
        log_var=found.get("log_var"),
        samples=found.get("sample"),
        probabilities=[found[name] for name in sorted(tables, key=lambda name: int(name.removeprefix(PROBABILITIES)))],
        factors={bare[name]: _labels(plain[name][:], dataset.features[name], library) for name in factors} or None,
        weights=np.array(plain["weight"][:]) if "weight" in names else None,
        options=CodesOptions(missing=missing, unordered=(*unordered, *classes)),
    )


def _vectors(rows: Sequence[Any], name: str) -> np.ndarray:
    lengths = {len(row) if isinstance(row, list) else 0 for row in rows}
    if len(lengths) != 1 or 0 in lengths:
        raise CodesError(f"The column {name!r} does not hold one vector of numbers a row, all of one length.")
    return np.array(rows)


def _labels(rows: Sequence[Any], feature: Any, library: Any) -> np.ndarray:
    """Returns a column of labels, masked where they are missing."""
    is_class = isinstance(feature, library.ClassLabel)
    absent = np.array([row is None or row != row or (is_class and row == -1) for row in rows])
    # Of the kind of the others, so that the column keeps its type.
    present = next((row for row, is_absent in zip(rows, absent, strict=True) if not is_absent), 0)
    filler = [0.0] * len(present) if isinstance(present, list) else type(present)()
    filled = np.array([filler if is_absent else row for row, is_absent in zip(rows, absent, strict=True)])
    if not absent.any():
        return filled
    return np.ma.masked_array(filled, np.broadcast_to(absent.reshape(-1, *[1] * (filled.ndim - 1)), filled.shape))
