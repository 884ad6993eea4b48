"""Codes as a .safetensors file of named tensors."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from safetensors import SafetensorError, safe_open

from unbraid._internal import files
from unbraid._internal.tensor_file import write_tensors
from unbraid._internal.version import __version__
from unbraid.codes import named_arrays
from unbraid.codes.codes import Codes
from unbraid.codes.named_arrays import FACTOR_NAMES, FILES
from unbraid.errors import CodesError


def write_safetensors(path: Path, codes: Codes, file_names: Sequence[str] = ()) -> "hashlib._Hash":
    """Writes all of the codes, and the names of the pictures they are of. Returns the SHA-256 of what was written."""
    metadata = {"unbraid": __version__}
    for name, words in ((FACTOR_NAMES, codes.factor_names), (FILES, file_names)):
        metadata |= {name: json.dumps(words)} if words else {}
    return write_tensors(path, named_arrays.to_arrays(codes), metadata)


def read_safetensors(path: Path) -> Codes:
    """Reads what `write_safetensors` or another program wrote."""
    try:
        with safe_open(files.regular(path), framework="pt") as stream:
            metadata = stream.metadata() or {}
            arrays = {name: stream.get_tensor(name) for name in named_arrays.read_among(stream.keys(), path)}
        names = json.loads(metadata[FACTOR_NAMES]) if FACTOR_NAMES in metadata else None
    # A header may claim anything: types that torch does not have, nesting without end.
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError, RuntimeError) as error:
        raise CodesError(
            f"{path} is not a readable .safetensors ({str(error)[:200]}). Write it again with safetensors."
        ) from None
    return named_arrays.from_arrays(arrays, names)
