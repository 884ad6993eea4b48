"""Codes from a file that somebody else wrote: .npz, .safetensors or .csv. Nothing in it is ever run."""

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from unbraid import files
from unbraid.arrays import shown
from unbraid.codes import Codes
from unbraid.data.formats.npz import Npz
from unbraid.errors import CodesError, UnbraidError
from unbraid.latent_prior import ARRAYS as _PRIOR_ARRAYS
from unbraid.runs import codes_file
from unbraid.runs.codes_csv import read_csv
from unbraid.runs.codes_file import PRIOR

_ARRAYS = ("mean", "std", "log_var", "samples", "covariance", "weights")
_TABLE = "probabilities_"
_FACTOR = "factor:"
_MAX_NAMES = 100_000
# Whatever a header claims: names that are numbers, tables of the wrong rank, nesting without end, types that torch
# cannot handle.
_LIES = (SafetensorError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, RuntimeError)


def read_codes(path: Path) -> Codes:
    """The codes in a file, in the form that its suffix says.

    .npz and .safetensors hold arrays by the names of `Codes.from_arrays`: `mean`, `std` (or `log_var`), `samples`,
    `covariance`, `weights`, and the factors as one table `factors` (named by `factor_names`: an array of an .npz, a
    JSON list in the metadata of a .safetensors), or each as a column `factor:NAME`. Discrete latents are tables
    `probabilities_0`, `probabilities_1`, ... The prior is `prior_mean` with `prior_std` or `prior_covariance`, and
    `prior_probabilities_0`, ... of discrete latents (see `LatentPrior`). Labels that are NaN are missing. Other arrays
    are not read. The codes of a run are such a file too. For .csv see `read_csv`.
    """
    readers = {".npz": _from_npz, ".safetensors": _from_safetensors, ".csv": read_csv}
    try:
        if path.is_dir():
            raise CodesError(f"{path} is a folder; expected a file of codes: {', '.join(readers)}.")
        if path.suffix.lower() not in readers:
            raise CodesError(
                f"{path} is not a file of codes that unbraid reads ({', '.join(readers)}). Save it as one of these."
            )
        if not path.is_file():
            raise CodesError(f"There is no file {path}. Check the path.")
        if path.stat().st_size == 0:
            raise CodesError(f"{path} is empty. Write the codes again.")
        return readers[path.suffix.lower()](path)
    except UnbraidError as error:
        # Which of several files it was is the first thing to know.
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from None
    except OSError as error:
        raise CodesError(
            f"{path} cannot be read ({error.strerror or error}). Check that it is a file you may read."
        ) from None


def _from_npz(path: Path) -> Codes:
    npz = Npz(path)
    headers = npz.headers(name for name in npz.names if _is_read(name) or name == "factor_names")
    _check_memory(path, sum(header.num_bytes for header in headers.values()))
    # Words take far more memory than their bytes once they are Python's.
    if "factor_names" in headers and (num_names := math.prod(headers["factor_names"].shape)) > _MAX_NAMES:
        raise CodesError(
            f"{path} holds {num_names:,} factor_names; expected one for each column of factors, {_MAX_NAMES:,} at most."
        )
    arrays = npz.read_all(headers)
    names = arrays.pop("factor_names").tolist() if "factor_names" in headers else None
    return _from_arrays(path, arrays, names)


def _from_safetensors(path: Path) -> Codes:
    try:
        with safe_open(files.regular(path), framework="pt") as stream:
            metadata = stream.metadata() or {}
            if "factors" in metadata:
                return _of_run(path)
            arrays = {name: stream.get_tensor(name) for name in stream.keys() if _is_read(name)}  # noqa: SIM118 (not a dict)
        names = json.loads(metadata["factor_names"]) if "factor_names" in metadata else None
    except UnbraidError:
        raise
    except _LIES as error:
        raise CodesError(
            f"{path} is not a readable .safetensors ({str(error)[:200]}). Write it again with safetensors."
        ) from None
    return _from_arrays(path, arrays, names)


def _of_run(path: Path) -> Codes:
    """Codes as a run keeps them, which the key `factors` of the metadata claims."""
    try:
        return codes_file.read_codes(path)
    except UnbraidError:
        raise
    except _LIES as error:
        complaint = f"there is no {error}" if isinstance(error, KeyError) else str(error).partition("\n")[0][:200]
        raise CodesError(
            f"{path} is not a readable .safetensors of a run, which the key 'factors' of its metadata says it is "
            f"({complaint}). Expected in the metadata "
            'factors, such as [{"name": "shape", "ordered": true}], and groups, such as []; and tensors mean and '
            "factor_0, .... If no run wrote it, leave the "
            "key out and give a tensor 'factors'."
        ) from None


def _from_arrays(path: Path, arrays: Mapping[str, Any], names: Any) -> Codes:
    if names is not None and not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise CodesError(
            f"factor_names in {path} is {repr(names)[:80]}; expected a list of names, one for each column of factors."
        )
    columns = {name.removeprefix(_FACTOR): array for name, array in arrays.items() if name.startswith(_FACTOR)}
    tables = list(_tables(path, arrays))
    if columns and "factors" in arrays:
        raise CodesError(f"{path} holds both factors and {_FACTOR}NAME columns. Give the factors in one way.")
    if not tables and "mean" not in arrays and "samples" not in arrays:
        raise CodesError(
            f"{path} has no array 'mean' (images by latents), nor 'samples', in which codes are kept; of what is read "
            "it holds "
            f"{shown(list(arrays), most=20) or 'nothing'}. Save the means of the posteriors too, as 'mean'."
        )
    prior = {name.removeprefix(PRIOR): array for name, array in arrays.items() if name.startswith(PRIOR)}
    return Codes.from_arrays(
        **{name: arrays[name] for name in _ARRAYS if name in arrays},
        probabilities=tables,
        factors=columns or arrays.get("factors"),
        factor_names=names,
        missing=float("nan"),
        prior=prior or None,
    )


def _tables(path: Path, arrays: Mapping[str, Any]) -> Iterator[Any]:
    num_tables = sum(name.startswith(_TABLE) for name in arrays)
    for number in range(num_tables):
        if f"{_TABLE}{number}" not in arrays:
            raise CodesError(
                f"{path} has {num_tables} tables of probabilities, and none is {_TABLE}{number}. Number them from 0."
            )
        yield arrays[f"{_TABLE}{number}"]


def _is_read(name: str) -> bool:
    of_prior = {f"{PRIOR}{array}" for array in _PRIOR_ARRAYS}
    return name in {*_ARRAYS, "factors", *of_prior} or name.startswith((_TABLE, _FACTOR, f"{PRIOR}{_TABLE}"))


def _check_memory(path: Path, num_bytes: int) -> None:
    """A megabyte of zeros, compressed, may unpack to a gigabyte: known from the headers, before anything is
    unpacked.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if num_bytes > memory // 2:
        raise CodesError(
            f"{path} unpacks to {num_bytes / 2**30:.1f} GiB, more than half the memory of this machine "
            f"({memory / 2**30:.1f} GiB). "
            "Score a random subset of the images."
        )
