"""Reading and writing of codes in .npz, .safetensors and .csv files. No code in a file is executed."""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from safetensors import SafetensorError, safe_open

from unbraid._internal import files
from unbraid._internal.memory import total_memory
from unbraid._internal.npz import Npz
from unbraid._internal.tensor_file import write_tensors
from unbraid._internal.version import __version__
from unbraid.codes import named_arrays
from unbraid.codes.codes import Codes
from unbraid.codes.csv_file import read_csv, write_csv
from unbraid.codes.named_arrays import FACTOR_NAMES, FILES
from unbraid.errors import CodesError, UnbraidError

_MAX_NAMES = 100_000


def save_codes(codes: Codes, path: Path, file_names: Sequence[str] = ()) -> None:
    """Writes codes and, if given, the image file names."""
    if path.suffix.lower() not in SUFFIXES:
        raise CodesError(f"The path is {path}; expected a file with the suffix {', '.join(SUFFIXES)}. Add a suffix.")
    _WRITERS[path.suffix.lower()](path, codes, file_names)


def load_codes(path: Path) -> Codes:
    """Reads codes from a file. Errors include the path."""
    try:
        if path.is_dir() or path.suffix.lower() not in SUFFIXES:
            what = "a folder" if path.is_dir() else "not a supported file of codes"
            raise CodesError(f"{path} is {what}; expected a file of codes. Use the suffix {', '.join(SUFFIXES)}.")
        if not path.is_file():
            raise CodesError(f"{path} does not exist. Check the path.")
        if path.stat().st_size == 0:
            raise CodesError(f"{path} is empty. Write the codes again.")
        return _READERS[path.suffix.lower()](path)
    except UnbraidError as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from None
    except OSError as error:
        raise CodesError(
            f"{path} cannot be read ({error.strerror or error}). Check the permissions of the file."
        ) from None


def write_npz(path: Path, codes: Codes, file_names: Sequence[str] = ()) -> None:
    """Writes all fields of the codes and the image file names to an .npz file."""
    arrays = {name: tensor.numpy() for name, tensor in named_arrays.to_arrays(codes).items()}
    arrays |= {name: np.array(words, dtype=np.str_) for name, words in _names(codes, file_names).items()}
    with files.atomic_writer(path) as stream:
        np.savez(stream, **cast(dict[str, Any], arrays))


def read_npz(path: Path) -> Codes:
    """Reads codes from an .npz file. Raises an error if the arrays need more than half of the memory."""
    npz = Npz(path)
    headers = npz.headers([*named_arrays.read_among(npz.names, path), *({FACTOR_NAMES} & set(npz.names))])
    num_bytes, memory = sum(header.num_bytes for header in headers.values()), total_memory()
    if num_bytes > memory // 2:
        raise CodesError(
            f"{path} unpacks to {num_bytes / 2**30:.1f} GiB; expected at most half of this machine's "
            f"{memory / 2**30:.1f} GiB of memory. Save a random subset of the images."
        )
    # Python strings need much more memory than their bytes in the file.
    if FACTOR_NAMES in headers and (num_names := math.prod(headers[FACTOR_NAMES].shape)) > _MAX_NAMES:
        raise CodesError(
            f"{path} has {num_names:,} factor_names; expected at most {_MAX_NAMES:,}. Write one name for each factor."
        )
    arrays = npz.read_all(headers)
    names = arrays.pop(FACTOR_NAMES).tolist() if FACTOR_NAMES in headers else None
    return named_arrays.from_arrays(arrays, names)


def write_safetensors(path: Path, codes: Codes, file_names: Sequence[str] = ()) -> "hashlib._Hash":
    """Writes all fields of the codes and the image file names to a .safetensors file. Returns the file's SHA-256."""
    names = {name: json.dumps(words) for name, words in _names(codes, file_names).items()}
    return write_tensors(path, named_arrays.to_arrays(codes), {"unbraid": __version__} | names)


def read_safetensors(path: Path) -> Codes:
    """Reads codes from a .safetensors file, written by `write_safetensors` or another program."""
    try:
        with safe_open(files.regular(path), framework="pt") as stream:
            metadata = stream.metadata() or {}
            arrays = {name: stream.get_tensor(name) for name in named_arrays.read_among(stream.keys(), path)}
        names = json.loads(metadata[FACTOR_NAMES]) if FACTOR_NAMES in metadata else None
    # An invalid header may contain unknown dtypes or unlimited nesting.
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError, RuntimeError) as error:
        raise CodesError(
            f"{path} is not a valid .safetensors file ({str(error)[:200]}). Write the file again with safetensors."
        ) from None
    return named_arrays.from_arrays(arrays, names)


def _names(codes: Codes, file_names: Sequence[str]) -> dict[str, Sequence[str]]:
    """Returns the factor names and the image file names as metadata, without empty lists."""
    return {name: words for name, words in ((FACTOR_NAMES, codes.factor_names), (FILES, file_names)) if words}


_READERS = {".npz": read_npz, ".safetensors": read_safetensors, ".csv": read_csv}
_WRITERS = {".npz": write_npz, ".safetensors": write_safetensors, ".csv": write_csv}
SUFFIXES = tuple(_READERS)
