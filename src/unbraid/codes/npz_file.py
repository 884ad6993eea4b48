"""Codes as an .npz file of named arrays."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from unbraid._internal import files
from unbraid._internal.npz import Npz
from unbraid.codes import named_arrays
from unbraid.codes.codes import Codes
from unbraid.codes.named_arrays import FACTOR_NAMES, FILES
from unbraid.errors import CodesError

_MAX_NAMES = 100_000


def write_npz(path: Path, codes: Codes, file_names: Sequence[str] = ()) -> None:
    """Writes all of the codes, and the names of the pictures they are of."""
    arrays = {name: tensor.numpy() for name, tensor in named_arrays.to_arrays(codes).items()}
    for name, words in ((FACTOR_NAMES, codes.factor_names), (FILES, file_names)):
        arrays |= {name: np.array(words, dtype=np.str_)} if words else {}
    with files.atomic_writer(path) as stream:
        np.savez(stream, **cast(dict[str, Any], arrays))


def read_npz(path: Path) -> Codes:
    """Reads what `write_npz` or another program wrote."""
    npz = Npz(path)
    names_of_factors = [name for name in npz.names if name == FACTOR_NAMES]
    headers = npz.headers([*named_arrays.read_among(npz.names, path), *names_of_factors])
    _check_memory(path, sum(header.num_bytes for header in headers.values()))
    # Words take far more memory than their bytes once they are Python's.
    if FACTOR_NAMES in headers and (num_names := math.prod(headers[FACTOR_NAMES].shape)) > _MAX_NAMES:
        raise CodesError(
            f"{path} holds {num_names:,} factor_names; expected one for each factor, {_MAX_NAMES:,} at most."
        )
    arrays = npz.read_all(headers)
    names = arrays.pop(FACTOR_NAMES).tolist() if FACTOR_NAMES in headers else None
    return named_arrays.from_arrays(arrays, names)


def _check_memory(path: Path, num_bytes: int) -> None:
    """Raises if a file would unpack to too much, as a megabyte of zeros may to a gigabyte: known from the headers,
    before anything is unpacked.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if num_bytes > memory // 2:
        raise CodesError(
            f"{path} unpacks to {num_bytes / 2**30:.1f} GiB, more than half the memory of this machine "
            f"({memory / 2**30:.1f} GiB). Score a random subset of the images."
        )
