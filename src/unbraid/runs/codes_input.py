"""Codes from a file that somebody else wrote: .npz, .safetensors or .csv. Nothing in it is ever run."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from unbraid.codes import Codes
from unbraid.data.npz import Npz
from unbraid.errors import CodesError, UnbraidError
from unbraid.runs import codes_file
from unbraid.runs.codes_csv import read_csv

_ARRAYS = ("mean", "std", "log_var", "samples", "covariance", "weights")
_TABLE = "probabilities_"
_FACTOR = "factor:"


def read_codes(path: Path) -> Codes:
    """The codes in a file, in the form that its suffix says.

    .npz and .safetensors hold arrays by the names of `Codes.from_arrays`: `mean`, `std` (or `log_var`), `samples`, `covariance`, `weights`, and the factors
    as one table `factors` (named by `factor_names`: an array of an .npz, a JSON list in the metadata of a .safetensors), or each as a column
    `factor:NAME`. Discrete latents are tables `probabilities_0`, `probabilities_1`, ... Labels that are NaN are missing. Other arrays are not read. The
    codes of a run are such a file too. For .csv see `read_csv`.
    """
    readers = {".npz": _from_npz, ".safetensors": _from_safetensors, ".csv": read_csv}
    if path.is_dir():
        raise CodesError(f"{path} is a folder; expected a file of codes: {', '.join(readers)}.")
    if path.suffix.lower() not in readers:
        raise CodesError(f"{path} is not a file of codes that unbraid reads ({', '.join(readers)}). Save it as one of these.")
    if not path.is_file():
        raise CodesError(f"There is no file {path}. Check the path.")
    if path.stat().st_size == 0:
        raise CodesError(f"{path} is empty. Write the codes again.")
    try:
        return readers[path.suffix.lower()](path)
    except UnbraidError:
        raise
    except OSError as error:
        raise CodesError(f"{path} cannot be read ({error.strerror or error}). Check that it is a file you may read.") from None


def _from_npz(path: Path) -> Codes:
    npz = Npz(path)
    _check_memory(path, sum(_num_bytes(npz.header(name)) for name in npz.names if _is_read(name)))
    arrays = {name: npz.read(name) for name in npz.names if _is_read(name)}
    names = npz.read("factor_names").tolist() if "factor_names" in npz else None
    return _from_arrays(path, arrays, names)


def _from_safetensors(path: Path) -> Codes:
    try:
        with safe_open(path, framework="pt") as stream:
            metadata = stream.metadata() or {}
            if "factors" in metadata:
                return _checked(path, codes_file.read_codes(path))
            arrays = {name: stream.get_tensor(name) for name in stream.keys() if _is_read(name)}  # noqa: SIM118 (not a dict)
        names = json.loads(metadata["factor_names"]) if "factor_names" in metadata else None
    except UnbraidError:
        raise
    # Whatever its header claims: names that are numbers, tables of the wrong rank, nesting without end, types that torch cannot handle.
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, RuntimeError) as error:
        raise CodesError(f"{path} is not a readable .safetensors ({error}). Write it again with safetensors.") from None
    return _from_arrays(path, arrays, names)


def _checked(path: Path, codes: Codes) -> Codes:
    """Codes as a run keeps them: floats, a row an image."""
    if codes.mean.ndim != 2 or not codes.mean.is_floating_point():
        raise CodesError(
            f"mean in {path} has shape {tuple(codes.mean.shape)} and type {codes.mean.dtype}; expected floats, images by latents."
        )
    for labels in codes.factors:
        if labels.values.ndim > 2:
            raise CodesError(
                f"Factor {labels.name!r} in {path} has shape {tuple(labels.values.shape)}; expected a label an image, or p(y | x)."
            )
    return codes


def _from_arrays(path: Path, arrays: Mapping[str, Any], names: Any) -> Codes:
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise CodesError(f"factor_names in {path} is {names!r}; expected a list of names, one for each column of factors.")
    columns = {name.removeprefix(_FACTOR): array for name, array in arrays.items() if name.startswith(_FACTOR)}
    tables = list(_tables(path, arrays))
    if columns and "factors" in arrays:
        raise CodesError(f"{path} holds both factors and {_FACTOR}NAME columns. Give the factors in one way.")
    if not tables and "mean" not in arrays and "samples" not in arrays:
        raise CodesError(
            f"{path} has no array 'mean', nor 'samples'; it holds {', '.join(arrays) or 'nothing that is read'}. Name the codes so."
        )
    return Codes.from_arrays(
        **{name: arrays[name] for name in _ARRAYS if name in arrays},
        probabilities=tables,
        factors=columns or arrays.get("factors"),
        factor_names=names,
        missing=float("nan"),
    )


def _tables(path: Path, arrays: Mapping[str, Any]) -> Iterator[Any]:
    num_tables = sum(name.startswith(_TABLE) for name in arrays)
    for number in range(num_tables):
        if f"{_TABLE}{number}" not in arrays:
            raise CodesError(f"{path} has {num_tables} tables of probabilities, and none is {_TABLE}{number}. Number them from 0.")
        yield arrays[f"{_TABLE}{number}"]


def _is_read(name: str) -> bool:
    return name in (*_ARRAYS, "factors") or name.startswith((_TABLE, _FACTOR))


def _num_bytes(header: Any) -> int:
    size: int = header.dtype.itemsize
    for length in header.shape:
        size *= length
    return size


def _check_memory(path: Path, num_bytes: int) -> None:
    """A megabyte of zeros, compressed, may unpack to a gigabyte: known from the headers, before anything is unpacked."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if num_bytes > memory // 2:
        raise CodesError(
            f"{path} unpacks to {num_bytes / 2**30:.1f} GiB, more than half the memory of this machine ({memory / 2**30:.1f} GiB). "
            "Score a random subset of the images."
        )
